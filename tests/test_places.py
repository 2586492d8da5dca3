"""Places for trials: lost ones are found again, none is there twice; workers may die."""

import os
import signal
import socket
import subprocess
import sys
import time
from multiprocessing import Process
from pathlib import Path

import psutil
import pytest
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from datamodules.errors import UserError
from datamodules.files import write_text
from sweeps.studies.places import (
    REASON,
    SLOT,
    WORKER,
    fill,
    has_signed,
    here,
    take_up_lost,
)
from sweeps.studies.process import DiedError, run_apart
from sweeps.studies.storage import open_storage
from sweeps.studies.study import plan
from tests.test_studies import chosen_rate, sweep_of, worked


def test_the_place_of_a_dead_worker_is_taken_up_with_its_settings(tmp_path):
    sweep = sweep_of(trials=1)
    storage = open_storage(sweep, tmp_path)
    study = plan(sweep, storage, [])
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    lost = study.ask()
    lost.suggest_float("rate", 1e-4, 1e-1, log=True)
    lost.set_user_attr(WORKER, here())
    take_up_lost(study, storage, sweep)
    assert study.trials[0].state == TrialState.RUNNING  # that worker lives
    lost.set_user_attr(WORKER, f"{socket.gethostname()}:{dead.pid}:0.0")
    take_up_lost(study, storage, sweep)
    assert WORKER not in study.trials[1].user_attrs  # else whoever takes it up seems dead at once
    done = worked(sweep, chosen_rate, storage).trials
    assert [trial.state for trial in done] == [TrialState.FAIL, TrialState.COMPLETE]
    assert done[1].params["rate"] == done[0].params["rate"]
    assert done[1].user_attrs[SLOT] == 0


def test_a_worker_that_dies_again_and_again_is_given_up():
    sweep, storage = sweep_of(trials=1, retries=2), InMemoryStorage()
    study = plan(sweep, storage, [])
    for _ in range(5):
        if study.get_trials(states=(TrialState.WAITING,)):
            study.ask().set_user_attr(WORKER, f"{socket.gethostname()}:99999999:0.0")
        take_up_lost(study, storage, sweep)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 3


def test_another_process_of_the_same_number_is_not_the_worker(tmp_path):
    sweep = sweep_of(trials=1)
    storage = open_storage(sweep, tmp_path)
    study = plan(sweep, storage, [])
    host, process, began = here().rsplit(":", 2)
    study.ask().set_user_attr(WORKER, f"{host}:{process}:{float(began) - 60}")
    take_up_lost(study, storage, sweep)
    assert study.trials[0].state == TrialState.FAIL


def test_a_place_that_was_lost_between_two_steps_of_its_heir_is_filled_again():
    sweep, storage = sweep_of(trials=2, retries=1), InMemoryStorage()
    study = plan(sweep, storage, [])
    lost = study.ask()
    rate = lost.suggest_float("rate", 1e-4, 1e-1, log=True)
    study.tell(lost, state=TrialState.FAIL)  # and there the heir was killed
    plan(sweep, storage, [])
    done = worked(sweep, chosen_rate, storage).trials
    assert [trial.user_attrs[SLOT] for trial in done] == [0, 1, 0]
    assert done[2].params["rate"] == rate


def test_a_place_that_ended_for_a_reason_is_not_filled_again():
    sweep, storage = sweep_of(trials=1), InMemoryStorage()
    study = plan(sweep, storage, [])
    bad = study.ask()
    bad.set_user_attr(REASON, "out of memory")
    study.tell(bad, state=TrialState.FAIL)
    fill(study, [], 1, sweep.retries)
    assert len(study.trials) == 1


def test_a_study_that_two_commands_plan_at_a_time_has_each_trial_once():
    sweep, storage = sweep_of(trials=2), InMemoryStorage()
    study = plan(sweep, storage, [])
    study.enqueue_trial({}, user_attrs={SLOT: 0})
    study.enqueue_trial({}, user_attrs={SLOT: 1})
    done = worked(sweep, chosen_rate, storage).trials
    finished = [trial for trial in done if trial.state == TrialState.COMPLETE]
    assert [trial.user_attrs[SLOT] for trial in finished] == [0, 1]
    assert {trial.user_attrs[REASON] for trial in done[2:]} == {"planned twice"}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse() -> None:
    raise UserError("no")


def test_work_apart_returns_raises_and_dies_as_it_is():
    assert run_apart(abs, -1) == 1
    with pytest.raises(UserError, match="no"):
        run_apart(refuse)
    with pytest.raises(DiedError) as death:
        run_apart(die)
    assert death.value.worker.split(":")[1] != str(os.getpid())


def test_a_worker_is_known_by_the_trials_it_took():
    study = plan(sweep_of(trials=1), InMemoryStorage(), [])
    study.ask().set_user_attr(WORKER, "there:1:0.0")
    assert has_signed(study, "there:1:0.0")
    assert not has_signed(study, here())


def test_work_apart_ends_with_the_process_that_asked_for_it(tmp_path):
    outer = Process(target=run_apart, args=(sleep_long, str(tmp_path / "number")))
    outer.start()
    until = time.monotonic() + 20
    while not (tmp_path / "number").exists() and time.monotonic() < until:
        time.sleep(0.05)
    inner = psutil.Process(int((tmp_path / "number").read_text()))
    outer.kill()
    outer.join()
    inner.wait(20)


def sleep_long(file: str) -> None:
    write_text(Path(file), str(os.getpid()))
    time.sleep(60)
