"""A storage that cannot be used ends the command in one line, before anything is trained."""

import socket
import sqlite3

import optuna
import pytest

from tests.helpers.commands import TINY, mistake, places, succeed

SECRET = "correct-horse"
STUDY = ["sweep=recurrent", "model=bahdanau", "sweep.trials=2", "logger=none", *TINY]


@pytest.fixture
def refused(tmp_path):
    """Start a study; check that one line names the storage and nothing ran; return the line."""

    def give(storage):
        line = mistake(*STUDY, *places(tmp_path), f"sweep.storage={storage}")
        assert "sweep.storage=" in line
        assert SECRET not in line
        assert not list(tmp_path.rglob("trials"))
        for file in tmp_path.rglob("*"):
            assert file.is_dir() or SECRET.encode() not in file.read_bytes(), file
        return line

    return give


def test_a_server_that_does_not_answer(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        line = refused(f"postgresql://tester:{SECRET}@127.0.0.1:{taken.getsockname()[1]}/studies")
    assert "Connection refused" in line
    assert "postgresql://tester:***@127.0.0.1" in line


def test_a_kind_of_database_that_there_is_not(refused):
    assert "nosql" in refused(f"nosql://tester:{SECRET}@127.0.0.1/studies")


def test_tables_of_another_version_of_optuna(refused, tmp_path):
    file = tmp_path / "old.db"
    optuna.create_study(storage=f"sqlite:///{file}")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE alembic_version SET version_num = 'v0.9.0.a'")
    assert "optuna" in refused(f"sqlite:///{file}")


def test_a_file_that_is_no_journal(refused, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a journal\n")
    assert "notes.txt" in refused(file)
    assert file.read_text() == "not a journal\n"


def test_a_sqlite_file_given_as_a_journal(refused, tmp_path):
    file = tmp_path / "studies.db"
    optuna.create_study(storage=f"sqlite:///{file}")
    assert f"sqlite:///{file}" in refused(file)


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_sqlite_file_keeps_a_study(tmp_path):
    output = succeed(*STUDY, *places(tmp_path), f"sweep.storage=sqlite:///{tmp_path}/studies.db")
    assert "2 complete" in output
