"""Workers of a study: trials of dead workers are taken up again, and processes may die."""

import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import Process
from pathlib import Path

import psutil
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from datamodules.errors import UserError
from datamodules.files import write_text
from sweeps.studies import worker
from sweeps.studies.draws import SLOT
from sweeps.studies.plan import REASON, StudyPlan, create_study
from sweeps.studies.storage import open_storage
from sweeps.studies.worker import run_in_fork
from tests.sweeps.studies.test_studies import chosen_rate, sweep_of, worked


def abandoned(sweep, storage):
    """Begin a trial whose worker is silent from now on; return its rate."""
    study = create_study(sweep, storage, [], "version")
    lost = study.ask()
    storage.record_heartbeat(lost._trial_id)
    return lost.suggest_float("rate", 1e-4, 1e-1, log=True)


def test_the_trial_of_a_silent_worker_is_taken_up_with_its_settings(tmp_path):
    sweep = sweep_of(trials=1, heartbeat_seconds=1)
    storage = open_storage(sweep, tmp_path)
    rate = abandoned(sweep, storage)
    lost, again = worked(sweep, chosen_rate, storage).trials
    assert [lost.state, again.state] == [TrialState.FAIL, TrialState.COMPLETE]
    assert again.params["rate"] == rate
    assert again.user_attrs[SLOT] == lost.user_attrs[SLOT] == 0


def test_a_trial_whose_workers_die_again_and_again_is_given_up(tmp_path):
    sweep = sweep_of(trials=1, retries=0, heartbeat_seconds=1)
    storage = open_storage(sweep, tmp_path)
    abandoned(sweep, storage)
    assert [trial.state for trial in worked(sweep, chosen_rate, storage).trials] == [
        TrialState.FAIL
    ]
    # The same command tries it again: a command that was killed often loses no trial.
    again = worked(sweep, chosen_rate, storage).trials
    assert [trial.state for trial in again] == [TrialState.FAIL, TrialState.COMPLETE]
    assert again[0].params["rate"] == again[1].params["rate"]


def test_a_trial_that_was_lost_before_it_was_enqueued_again_is_planned_anew():
    sweep, storage = sweep_of(trials=2, retries=1), InMemoryStorage()
    study = create_study(sweep, storage, [], "version")
    lost = study.ask()
    rate = lost.suggest_float("rate", 1e-4, 1e-1, log=True)
    study.tell(lost, state=TrialState.FAIL)  # here the process that enqueues the trial is killed
    done = worked(sweep, chosen_rate, storage).trials
    assert [trial.user_attrs[SLOT] for trial in done] == [0, 1, 0]
    assert done[2].params["rate"] == rate


def test_a_trial_that_failed_for_a_reason_is_not_planned_anew():
    sweep, storage = sweep_of(trials=1), InMemoryStorage()
    study = create_study(sweep, storage, [], "version")
    bad = study.ask()
    bad.set_user_attr(REASON, "out of memory")
    study.tell(bad, state=TrialState.FAIL)
    create_study(sweep, storage, [], "version")
    assert len(study.trials) == 1


def test_a_worker_waits_for_a_database_that_restarts(tmp_path, monkeypatch):
    sweep, calls = sweep_of(trials=2), []
    create_study(sweep, open_storage(sweep, tmp_path), [], "version")
    plan = StudyPlan("bahdanau", sweep, [], "version", tmp_path, ())

    def train(trial, plan):
        calls.append(trial.user_attrs[SLOT])
        if len(calls) == 1:
            raise StorageInternalError("the server is gone")
        return chosen_rate(trial)

    monkeypatch.setattr(worker, "train_slot", train)
    worker.take_trials([plan], tmp_path)
    assert sorted(calls) == [0, 0, 1]


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse() -> None:
    raise UserError("no")


def test_work_apart_returns_raises_and_dies_as_it_is():
    assert run_in_fork(abs, -1) == 1
    with pytest.raises(UserError, match="no"):
        run_in_fork(refuse)
    with pytest.raises(BrokenProcessPool):
        run_in_fork(die)


def test_a_worker_that_dies_before_a_trial_is_not_started_again(tmp_path, monkeypatch):
    sweep = sweep_of(trials=1)
    create_study(sweep, open_storage(sweep, tmp_path), [], "version")
    monkeypatch.setattr(worker, "take_trials", die)
    with pytest.raises(BrokenProcessPool):
        worker.work([StudyPlan("bahdanau", sweep, [], "version", tmp_path, ())], tmp_path, 0)


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


def test_ctrl_c_to_the_outer_process_alone_interrupts_the_work_once(tmp_path):
    outer = Process(target=interruptible, args=(str(tmp_path / "begun"), str(tmp_path / "ended")))
    outer.start()
    until = time.monotonic() + 20
    while not (tmp_path / "begun").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(outer.pid or 0, signal.SIGINT)
    outer.join(20)
    assert (tmp_path / "ended").read_text() == "interrupted"
    assert not psutil.pid_exists(int((tmp_path / "begun").read_text()))


def interruptible(begun: str, ended: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_in_fork(end_on_interrupt, begun, ended)


def end_on_interrupt(begun: str, ended: str) -> None:
    try:
        sleep_long(begun)
    except KeyboardInterrupt:
        write_text(Path(ended), "interrupted")
        raise


def sleep_long(file: str) -> None:
    write_text(Path(file), str(os.getpid()))
    time.sleep(60)
