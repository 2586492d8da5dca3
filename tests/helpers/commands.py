"""Running the command line as a user does, with budgets of seconds."""

import io
import logging
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from pathlib import Path
from unittest.mock import patch

import pytest
from hydra._internal.hydra import Hydra

from run import program
from sweeps.launch.errors import run_main
from tests.helpers.forked import run_forked

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)

TINY = [
    "data.train_size=300",
    "data.val_size=12",
    "data.test_size=24",
    "batching.max_tokens=600",
    "budget.target_tokens=2500",
    "trainer.val_check_interval=2",
    "val_sentences=6",
    "decoding.max_ratio=0.5",
    "decoding.max_extra=5",
    "scale=0.25",
    "threads=1",
    "scoring.metrics=[bleu,exact,chrf,chrf++]",
    "report.run_page=null",
]

TESTED = [
    given for given in TINY if not given.startswith(("budget", "trainer", "val_sentences", "scale"))
]
"""The settings of ``TINY`` that ``task=test`` reads."""

QUICK = ["task=evaluate", "logger=none", "scoring.edges=[10,20,30]", "scoring.resamples=200"]
FILES = ["references=ref", "sources=src"]
TWO = [*FILES, "systems.luong=luong1", "systems.none=none1"]
"""Two systems in files of the folder, as ``here`` of ``conftest.py`` makes them."""


def places(space: Path) -> list[str]:
    """Keep what a command writes, and what it may read again, below ``space``."""
    return [f"outputs={space}/outputs", f"cache_dir={space}/cache"]


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``python run.py`` in the checkout, without any W&B login of the machine."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "HYDRA"))
    }
    surroundings = inherited | {"NETRC": "/nonexistent", "COLUMNS": "100"} | environment
    return run_forked(arguments, ROOT, surroundings, stdin, seconds=900)


def succeed(*arguments: str, stdin: str = "", **environment: str) -> str:
    """Run, insist on success, and return standard output."""
    done = run(*arguments, stdin=stdin, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def inside(*arguments: str) -> None:
    """Run in this process, where imports need no seconds; Hydra's handlers are taken away again."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        with patch.object(sys, "argv", ["run.py", *arguments]), _composed_once(arguments):
            run_main(program)
    finally:
        root.handlers[:] = before
        root.setLevel(level)


def _composed_once(arguments: Sequence[str]) -> AbstractContextManager[object]:
    """Spare Hydra its first composition, which finds out whether a file asks for a multirun."""
    if any(argument.startswith(("comparison=", "sweep=", "claims=")) for argument in arguments):
        return nullcontext()
    return patch.object(Hydra, "get_mode", lambda *_, **__: None)


def mistake(*arguments: str) -> str:
    """Run in this process, insist on an error of one line, and return it."""
    errors = io.StringIO()
    with redirect_stderr(errors), pytest.raises(SystemExit) as stopped:
        inside(*arguments)
    assert stopped.value.code == 2
    [line] = errors.getvalue().splitlines()
    assert line.startswith("error: ")
    return line


def in_process(*arguments: str) -> object:
    """Run in this process and return the exit status."""
    try:
        inside(*arguments)
    except SystemExit as stopped:
        return stopped.code
    return 0


FIXED = ("scoring.least_sentences=0",)
"""Length buckets as ``scoring.edges`` has them, though the test set is small."""


def evaluate(*arguments: str, out: str = "out", buckets: Sequence[str] = FIXED) -> object:
    """Run ``task=evaluate`` in this process, with few resamples, and return the exit status."""
    return in_process(*QUICK, *buckets, f"hydra.run.dir={out}", *arguments)


def write(path: Path, lines: Sequence[str]) -> str:
    """Write a line each; return the name of the file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def example(page: str, folder: Path) -> list[list[str]]:
    """Write the files of a page into ``folder``; return the arguments of each ``run.py`` command.

    A block is a file if its first line is a comment with the file's name, ``# my_window.py``.
    Commands stand in blocks of ``sh``, one a line. Give ``PYTHONPATH=folder`` to run the commands.
    """
    text = (ROOT / "docs" / "how_to" / "extend" / f"{page}.md").read_text(encoding="utf-8")
    commands = []
    for language, content in BLOCK.findall(text):
        name = re.match(r"# (\S+\.\w+)\n", content)
        if name:
            file = folder / name[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        elif language == "sh":
            lines = [shlex.split(line, comments=True) for line in content.splitlines()]
            commands += [words[2:] for words in lines if words[:2] == ["python", "run.py"]]
    assert commands, page
    return commands
