"""Where a job of a multirun stands, told in a small file of its folder while it runs."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from datamodules.files import write_json

PROGRESS = "progress.json"
QUIET = "ATTENTION_BENCH_QUIET"
"""Environment variable, set where a table shows the jobs: their own lines would break it."""


@dataclass(frozen=True)
class JobState:
    """What a table of running jobs shows of one."""

    doing: str
    """``training`` or ``testing``."""
    updates: int = 0
    share: float = 0.0
    """Of the training budget, 0 to 1."""
    tokens_per_second: float = 0.0
    """Real target tokens trained on."""
    val_bleu: float | None = None
    """Of the last validation."""
    seconds_left: float | None = None
    """Of training."""

    def write(self, folder: Path) -> None:
        """Replace the file, whole or not at all."""
        write_json(folder / PROGRESS, asdict(self))


def read_state(folder: Path) -> JobState | None:
    """Where a job stands; None before it tells, or where the file cannot be read."""
    try:
        return JobState(**json.loads((folder / PROGRESS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
