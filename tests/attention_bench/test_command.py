"""The installed command: ``python run.py`` from any folder."""

import os
import subprocess
import sys

import pytest

from lightning_modules.runs.job import command, program_words
from lightning_modules.runs.settings import help_text
from tests.helpers.commands import ROOT, TINY, mistake, places

NAME = "attention-bench"


@pytest.mark.parametrize(
    ("started", "words"),
    [
        ("run.py", ["python", "run.py"]),
        (f"/home/user/{NAME}/run.py", ["python", "run.py"]),
        ("/usr/lib/pytest/__main__.py", ["python", "run.py"]),
        (f"/usr/bin/{NAME}", [NAME]),
        ("/usr/lib/attention_bench/__main__.py", [NAME]),
    ],
)
def test_commands_are_shown_as_this_one_was_started(started, words, monkeypatch):
    monkeypatch.setattr(sys, "argv", [started])
    assert program_words() == words
    assert command("task=compare", "runs=[a b]") == " ".join(
        [*words, "task=compare", "'runs=[a b]'"]
    )


@pytest.mark.parametrize("program", [NAME, "python run.py"])
def test_help_names_the_program_and_fits_a_terminal(program):
    lines = help_text(program).splitlines()
    assert f"What to run: {program}, with" in lines
    assert ("run.py" in " ".join(lines)) == ("run.py" in program)
    assert max(map(len, lines)) <= 80


@pytest.mark.long
def test_the_command_runs_in_another_folder(tmp_path):
    """With a file of the user's configuration, and a module that hides none of the harness."""
    (tmp_path / "run.py").write_text("raise RuntimeError")
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    (tmp_path / "my_conf" / "model" / "mine.yaml").write_text(
        "defaults: [bahdanau]\ncell: my_cell.Mine\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "attention_bench",
            "--config-dir",
            "my_conf",
            "model=mine",
            "--cfg",
            "job",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "cell: my_cell.Mine" in done.stdout, done.stderr


def test_a_class_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "score_of_this_folder.py").write_text("class Plain: ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    given = ["model=luong_global", "model.attention.score=score_of_this_folder.Plain"]
    line = mistake(*TINY, *given, *places(tmp_path), "logger=none")
    assert "is not derived from" in line
