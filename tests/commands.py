"""Running the command line as a user does, with budgets of seconds."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

TINY = [
    "data.train_size=300",
    "data.val_size=12",
    "data.test_size=24",
    "batching.max_tokens=600",
    "budget.target_tokens=2500",
    "trainer.val_check_interval=2",
    "val_sentences=6",
    "decoding.max_extra=5",
    "threads=1",
]


def places(space: Path) -> list[str]:
    """Keep what a command writes, and what it may read again, below ``space``."""
    return [f"outputs={space}/outputs", f"cache_dir={space}/cache"]


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``python run.py`` in the checkout, without any W&B login of the machine."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "HYDRA"))
    }
    return subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=ROOT,
        env=inherited | {"NETRC": "/nonexistent", "COLUMNS": "100"} | environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
    )


def succeed(*arguments: str, stdin: str = "", **environment: str) -> str:
    """Run, insist on success, and return standard output."""
    done = run(*arguments, stdin=stdin, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
