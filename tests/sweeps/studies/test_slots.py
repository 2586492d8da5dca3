"""Slots of trials: lost slots are filled again, no slot is filled twice; workers may die."""

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
from sweeps.studies.plan import (
    REASON,
    SLOT,
    WORKER,
    create_study,
    enqueue_missing,
    requeue_dead,
    was_claimed_by,
    worker_id,
)
from sweeps.studies.storage import open_storage
from sweeps.studies.worker import DiedError, run_in_fork
from tests.sweeps.studies.test_studies import chosen_rate, sweep_of, worked


def test_the_slot_of_a_dead_worker_is_taken_up_with_its_settings(tmp_path):
    sweep = sweep_of(trials=1)
    storage = open_storage(sweep, tmp_path)
    study = create_study(sweep, storage, [], "version")
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    lost = study.ask()
    lost.suggest_float("rate", 1e-4, 1e-1, log=True)
    lost.set_user_attr(WORKER, worker_id())
    requeue_dead(study, storage, sweep)
    assert study.trials[0].state == TrialState.RUNNING  # that worker lives
    lost.set_user_attr(WORKER, f"{socket.gethostname()}:{dead.pid}:0.0")
    requeue_dead(study, storage, sweep)
    assert WORKER not in study.trials[1].user_attrs  # else the next worker seems dead at once
    done = worked(sweep, chosen_rate, storage).trials
    assert [trial.state for trial in done] == [TrialState.FAIL, TrialState.COMPLETE]
    assert done[1].params["rate"] == done[0].params["rate"]
    assert done[1].user_attrs[SLOT] == 0


def test_a_worker_that_dies_again_and_again_is_given_up():
    sweep, storage = sweep_of(trials=1, retries=2), InMemoryStorage()
    study = create_study(sweep, storage, [], "version")
    for _ in range(5):
        if study.get_trials(states=(TrialState.WAITING,)):
            study.ask().set_user_attr(WORKER, f"{socket.gethostname()}:99999999:0.0")
        requeue_dead(study, storage, sweep)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 3


def test_another_process_of_the_same_number_is_not_the_worker(tmp_path):
    sweep = sweep_of(trials=1)
    storage = open_storage(sweep, tmp_path)
    study = create_study(sweep, storage, [], "version")
    host, process, began = worker_id().rsplit(":", 2)
    study.ask().set_user_attr(WORKER, f"{host}:{process}:{float(began) - 60}")
    requeue_dead(study, storage, sweep)
    assert study.trials[0].state == TrialState.FAIL


def test_a_slot_that_was_lost_before_its_trial_was_requeued_is_filled_again():
    sweep, storage = sweep_of(trials=2, retries=1), InMemoryStorage()
    study = create_study(sweep, storage, [], "version")
    lost = study.ask()
    rate = lost.suggest_float("rate", 1e-4, 1e-1, log=True)
    study.tell(lost, state=TrialState.FAIL)  # here the process that requeues the trial is killed
    create_study(sweep, storage, [], "version")
    done = worked(sweep, chosen_rate, storage).trials
    assert [trial.user_attrs[SLOT] for trial in done] == [0, 1, 0]
    assert done[2].params["rate"] == rate


def test_a_slot_that_ended_for_a_reason_is_not_filled_again():
    sweep, storage = sweep_of(trials=1), InMemoryStorage()
    study = create_study(sweep, storage, [], "version")
    bad = study.ask()
    bad.set_user_attr(REASON, "out of memory")
    study.tell(bad, state=TrialState.FAIL)
    enqueue_missing(study, [], 1, sweep.retries)
    assert len(study.trials) == 1


def test_a_study_that_two_commands_plan_at_a_time_has_each_trial_once():
    sweep, storage = sweep_of(trials=2), InMemoryStorage()
    study = create_study(sweep, storage, [], "version")
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
    assert run_in_fork(abs, -1) == 1
    with pytest.raises(UserError, match="no"):
        run_in_fork(refuse)
    with pytest.raises(DiedError) as death:
        run_in_fork(die)
    assert death.value.worker.split(":")[1] != str(os.getpid())


def test_a_worker_is_known_by_the_trials_it_took():
    study = create_study(sweep_of(trials=1), InMemoryStorage(), [], "version")
    study.ask().set_user_attr(WORKER, "there:1:0.0")
    assert was_claimed_by(study, "there:1:0.0")
    assert not was_claimed_by(study, worker_id())


def test_work_apart_ends_with_the_process_that_asked_for_it(tmp_path):
    outer = Process(target=run_in_fork, args=(sleep_long, str(tmp_path / "number")))
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
