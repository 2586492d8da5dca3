"""A comparison that is killed and started again trains each of its jobs once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lightning_modules.runs.reader import read_result
from tests.helpers.commands import ROOT, TINY, inside, places, succeed

LISTS = ["model=seq2seq,bahdanau,luong_global", "seed=1,2"]
GIVEN = ["-m", "hydra/launcher=side_by_side", "logger=none", *LISTS, *TINY]


def finished(sweep: Path) -> dict[str, int]:
    """Jobs with a result, and the time of each result, in ns."""
    return {file.parent.name: file.stat().st_mtime_ns for file in sweep.glob("*/result.json")}


def killed(sweep: Path, space: Path, more: int) -> None:
    """Start the command; once ``more`` jobs have finished, kill the command and its jobs."""
    wanted = len(finished(sweep)) + more
    where = [*places(space), f"hydra.sweep.dir={sweep}"]
    command = subprocess.Popen(
        [sys.executable, "run.py", *GIVEN, *where],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 200
    while len(finished(sweep)) < wanted and command.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert command.poll() is None, "it ended before it was killed"
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()


@pytest.mark.exhaustive
@pytest.mark.long
def test_six_jobs_killed_twice_are_each_trained_once(tmp_path):
    sweep = tmp_path / "sweep"
    before: dict[str, int] = {}
    for more in (1, 2):
        killed(sweep, tmp_path, more)
        now = finished(sweep)
        assert before.items() <= now.items()
        before = now
    assert len(before) < 6
    succeed(*GIVEN, *places(tmp_path), f"hydra.sweep.dir={sweep}")
    assert before.items() <= finished(sweep).items()
    assert len(finished(sweep)) == 6
    assert (sweep / "report.html").is_file()
    # One of the last jobs has the result of an undisturbed training.
    [last] = [name for name in sorted(finished(sweep)) if name not in before][-1:]
    result = read_result(sweep / last)
    assert result is not None
    straight = [f"model={result.variant}", f"seed={result.seed}", "logger=none"]
    inside(*straight, *TINY, *places(tmp_path), f"hydra.run.dir={tmp_path / 'straight'}")
    alone = read_result(tmp_path / "straight")
    assert alone is not None
    assert alone.scores == result.scores
    assert alone.training.data_order == result.training.data_order
