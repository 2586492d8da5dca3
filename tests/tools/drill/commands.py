"""Commands of the drill: processes of their own, with tokens planted where secrets stand."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.helpers.commands import ROOT

TOKEN = "planted-4f1d0c7e"  # output or a file that contains the token is a leak
SECRETS = (
    "WANDB_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD",
    "DATABASE_URL", "SLURM_JWT", "HTTP_PROXY_PASSWORD",
)  # fmt: skip
"""Environment variables in which users keep secrets."""
SETTINGS = [
    "scale=0.25", "data.train_size=200", "data.val_size=8", "data.test_size=12",
    "val_sentences=6", "batching.max_tokens=600", "budget.target_tokens=2500", "threads=1",
    "trainer.val_check_interval=2", "decoding.max_ratio=0.5", "decoding.max_extra=5",
    "scoring.metrics=[bleu]", "scoring.resamples=100", "callbacks.resume_checkpoint.minutes=0.001",
]  # fmt: skip
"""A training of a second."""
MINUTES = 5


class Part(NamedTuple):
    """What a part of the drill has found."""

    done: int  # number of trials
    wrong: list[str]  # a line for each trial that ended as it must not
    notes: str = ""


class Ended(NamedTuple):
    """A command that has ended."""

    status: int
    output: str
    errors: str
    seconds: float
    peak_mib: float

    @property
    def refusal(self) -> str | None:
        """The one line of a user's mistake; None for any other end."""
        lines = self.errors.splitlines()
        if self.status == 2 and len(lines) == 1 and lines[0].startswith("error: "):
            return lines[0]
        return None

    def __str__(self) -> str:
        """Return the status and the last lines."""
        last = " / ".join((self.output + self.errors).splitlines()[-3:])
        return f"status {self.status}: {last[-300:]}"


def start(
    arguments: Sequence[str], out: Path, before: Sequence[str] = (), **environment: str
) -> "subprocess.Popen[bytes]":
    """Start ``python run.py`` as a group of processes; ``out`` gets its output and its errors.

    ``before`` are words before ``python``, such as those of ``unshare``.
    """
    given = os.environ | dict.fromkeys(SECRETS, TOKEN)
    with out.open("wb") as output, out.with_suffix(".errors").open("wb") as errors:
        return subprocess.Popen(
            [*before, sys.executable, "run.py", *arguments],
            cwd=ROOT,
            env=given | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )


def command(
    arguments: Sequence[str], out: Path, before: Sequence[str] = (), **environment: str
) -> Ended:
    """Run ``python run.py`` to its end; see ``start``."""
    started = time.perf_counter()
    process = start(arguments, out, before, **environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(
        process.returncode,
        out.read_text(encoding="utf-8", errors="replace"),
        out.with_suffix(".errors").read_text(encoding="utf-8", errors="replace"),
        time.perf_counter() - started,
        used.ru_maxrss / 1024,
    )


def training(folder: Path, space: Path) -> list[str]:
    """Return the arguments of a training in ``folder``."""
    return [*SETTINGS, f"hydra.run.dir={folder}", *shared(space), "logger=none"]


def shared(space: Path) -> list[str]:
    """Return the arguments of places that commands share."""
    return [f"outputs={space}/outputs", f"cache_dir={space}/cache"]
