"""Folders that an ordinary user may not write: refused in one line that names the place."""

import os
import random
import subprocess
import sys
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory

from tests.drill.commands import SETTINGS, Part, command, training
from tests.helpers.commands import ROOT

NOBODY = "65534"
ORDINARY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
"""Words that give a command of root the rights of an ordinary user."""


def drill(space: Path, count: int, draw: random.Random) -> Part:
    """Give ``count`` places that a command writes as folders that may only be read."""
    before = ORDINARY if os.geteuid() == 0 else []
    # Some systems let a user run a Python that the user may not look at; libraries look at it.
    probe = "import os, run, sys; os.stat(sys.executable)"
    if subprocess.run([*before, sys.executable, "-c", probe], cwd=ROOT, stderr=DEVNULL).returncode:
        return Part(0, [], "an ordinary user cannot read this checkout and its Python")
    with TemporaryDirectory(prefix="places-") as name:  # parents of ``space`` may be closed
        Path(name).chmod(0o755)
        return _refusals(Path(name), before, count, draw)


def _refusals(space: Path, before: list[str], count: int, draw: random.Random) -> Part:
    closed, opened = space / "closed", space / "open"
    for folder in (closed, opened):
        folder.mkdir()
    opened.chmod(0o777)
    closed.chmod(0o555)
    run = opened / "run"
    given = [*training(run, opened), "hydra.output_subdir=.hydra"]
    trained = command(given, space / "train.out", before, HOME=str(opened))
    if trained.status:
        return Part(1, [f"the training that the drill needs: {trained}"])
    (opened / "text").write_text("A man worked .\n")
    read = ["task=translate", f"checkpoint={run}", f"input={opened}/text", "threads=1"]
    cases = {
        "outputs": [*SETTINGS, f"outputs={closed}", f"cache_dir={opened}/cache", "logger=none"],
        "cache_dir": [*training(opened / "other", opened), f"cache_dir={closed}/cache"],
        "hydra.run.dir": training(closed / "run", opened),
        "output": [*read, f"output={closed}/translated"],
        "alignments": [*read, f"alignments={closed}/links"],
    }
    wrong = []
    for name in draw.sample(list(cases), count):
        arguments = cases[name]
        ended = command(arguments, space / f"{name}.out", before, HOME=str(opened))
        if ended.refusal is None or str(closed) not in ended.refusal:
            wrong.append(f"{name}: {ended}")
    return Part(count, wrong)
