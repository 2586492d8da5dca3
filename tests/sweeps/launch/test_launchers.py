"""A user's launcher, which Hydra finds in a package of the namespace ``hydra_plugins``."""

import json
import os
import subprocess
import sys

import pytest

from tests.helpers.commands import ROOT, TINY, example, mistake, places

QUICK = ["model=bahdanau", "scale=0.1", "decoding=greedy", "scoring.resamples=100", "logger=none"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_launcher_of_ones_own_runs_the_jobs(tmp_path):
    """The example of the page, in a process that has not looked for plugins yet."""
    [command] = example("launcher", tmp_path)
    folder = tmp_path / "jobs"
    arguments = [*command, *QUICK, *TINY, *places(tmp_path), f"hydra.sweep.dir={folder}"]
    done = subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (line for line in done.stdout.splitlines() if line.startswith("number "))
    assert first.startswith("number 0: seed=1 ")
    assert second.startswith("number 1: seed=2 ")
    seeds = [json.loads((folder / job / "result.json").read_text())["seed"] for job in "01"]
    assert seeds == [1, 2]
    assert (folder / "report.html").is_file()


def test_a_wrong_launcher_is_told_in_a_line(tmp_path):
    line = mistake("-m", "hydra/launcher=nosuch", *QUICK, *TINY, *places(tmp_path))
    assert "Could not find 'hydra/launcher/nosuch'" in line
    assert "side_by_side" in line
