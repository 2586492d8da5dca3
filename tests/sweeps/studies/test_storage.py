"""A storage that cannot be used ends the command in one line, before anything is trained."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import optuna
import psutil
import pytest
from optuna.exceptions import StorageInternalError
from optuna.trial import TrialState

from sweeps.studies.draws import SLOT
from sweeps.studies.plan import COST, trial_folder
from tests.helpers.commands import ROOT, TINY, mistake, places
from tests.helpers.postgres import PASSWORD, postgres

STUDY = ["sweep=recurrent", "model=bahdanau", "sweep.trials=2", "logger=none", *TINY]


@pytest.fixture
def refused(tmp_path):
    """Start a study; check that one line names the storage and nothing ran; return the line."""

    def give(storage):
        line = mistake(*STUDY, *places(tmp_path), f"sweep.storage={storage}")
        assert "sweep.storage=" in line
        assert PASSWORD not in line
        assert not list(tmp_path.rglob("trials"))
        for file in tmp_path.rglob("*"):
            assert file.is_dir() or PASSWORD.encode() not in file.read_bytes(), file
        return line

    return give


def test_a_server_that_does_not_answer(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        line = refused(f"postgresql://tester:{PASSWORD}@127.0.0.1:{taken.getsockname()[1]}/studies")
    assert "Connection refused" in line
    assert "postgresql://tester:***@127.0.0.1" in line


def test_a_kind_of_database_that_there_is_not(refused):
    assert "nosql" in refused(f"nosql://tester:{PASSWORD}@127.0.0.1/studies")


def test_tables_of_another_version_of_optuna(refused, tmp_path):
    file = tmp_path / "old.db"
    optuna.create_study(storage=f"sqlite:///{file}")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE alembic_version SET version_num = 'v0.9.0.a'")
    assert "optuna" in refused(f"sqlite:///{file}")


def test_a_file_that_is_not_a_database(refused, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but a text that is longer than its header\n" * 20)
    assert "notes.txt: file is not a database" in refused(file)
    assert file.read_text().startswith("not a database")


pytestmark = pytest.mark.postgresql
TRIALS, NAME = 6, "survival"


@pytest.fixture
def server():
    with postgres() as running:
        yield running


def begin(server, space, *more):
    """Start the command of a study, which goes on by itself."""
    settings = ["sweep=recurrent", "model=bahdanau", f"sweep.name={NAME}", f"sweep.trials={TRIALS}"]
    settings += [f"sweep.storage={server.address}", "sweep.workers=4", "sweep.heartbeat_seconds=1"]
    with (space / "output").open("a") as output:
        return subprocess.Popen(
            [sys.executable, "run.py", *settings, *TINY, *places(space), "logger=none", *more],
            cwd=ROOT,
            env=os.environ | {"COLUMNS": "100"},
            stdout=output,
            stderr=output,
        )


def wait_for(what, command, space, seconds=240):
    """Call ``what`` again and again, as long as the command runs, for a true value."""
    until = time.monotonic() + seconds
    while command.poll() is None and time.monotonic() < until:
        try:
            value = what()
        except (KeyError, StorageInternalError):  # not there yet
            value = None
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError((space / "output").read_text())


def owner(lock):
    """Return the process that has a file open."""
    for process in psutil.process_iter():
        try:
            if any(each.path == str(lock) for each in process.open_files()):
                return process.pid
        except psutil.Error:
            continue
    raise AssertionError(lock)


def trials_of(server):
    storage = optuna.storages.RDBStorage(server.address)
    return optuna.load_study(study_name=NAME, storage=storage).get_trials()


@pytest.mark.exhaustive
@pytest.mark.long
def test_the_rest_go_on_when_one_is_killed_and_the_server_restarts(server, tmp_path):
    command = begin(server, tmp_path, "budget.target_tokens=6000")
    folder = tmp_path / "outputs" / "studies" / NAME

    def in_mid_trial():
        """Return a running trial with a checkpoint, once four workers run trials; else None."""
        running = [one for one in trials_of(server) if one.state == TrialState.RUNNING]
        made = [one for one in running if last(one).is_file()]
        return made[0] if made and len(running) == 4 else None

    def last(trial):
        return trial_folder(folder, trial.user_attrs[SLOT]) / "seed-1" / "checkpoints" / "last.ckpt"

    try:
        victim = wait_for(in_mid_trial, command, tmp_path)
        os.kill(owner(last(victim).parents[1] / ".lock"), signal.SIGKILL)
        server.stop()
        time.sleep(2)
        server.start()
        assert command.wait(400) == 0, (tmp_path / "output").read_text()
    finally:
        command.kill()

    trials, output = trials_of(server), (tmp_path / "output").read_text()
    slots = [one for one in trials if SLOT in one.user_attrs]
    ended = [one for one in slots if one.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    assert sorted(one.user_attrs[SLOT] for one in ended) == list(range(TRIALS)), output
    assert {one.state for one in slots if one not in ended} == {TrialState.FAIL}
    # A worker that comes when another worker took the last slot ends its trial without training.
    late = [one for one in trials if SLOT not in one.user_attrs]
    assert all(one.state == TrialState.FAIL and COST not in one.user_attrs for one in late)
    [again] = [one for one in ended if one.user_attrs[SLOT] == victim.user_attrs[SLOT]]
    assert again.params == victim.params
    assert victim.number in again.system_attrs["retry_history"]
    assert "died" in output
    assert PASSWORD not in output
    for file in folder.rglob("*"):
        assert file.is_dir() or PASSWORD.encode() not in file.read_bytes(), file


@pytest.mark.long
def test_a_wrong_password_ends_it_in_a_line_without_it(server, tmp_path):
    address = server.address.replace(PASSWORD, "wrong-horse")
    command = begin(server, tmp_path, f"sweep.storage={address}")
    assert command.wait(120) == 2
    output = (tmp_path / "output").read_text()
    assert "password authentication failed" in output
    assert len(output.splitlines()) == 1
    assert "wrong-horse" not in output
