"""Progress of a job of a multirun, in a small file of the job's folder."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from datamodules.files import write_json

PROGRESS = "progress.json"
QUIET = "ATTENTION_BENCH_QUIET"
"""Environment variable, set while a table shows the jobs: log lines would break the table."""


@dataclass(frozen=True)
class JobState:
    """Progress of one job, for a table of running jobs."""

    doing: str
    """Current work: ``training`` or ``testing``."""
    updates: int = 0
    share: float = 0.0
    """Share of the training budget that is spent, 0 to 1."""
    tokens_per_second: float = 0.0
    """Real target tokens trained on per second."""
    val_bleu: float | None = None
    """BLEU of the last validation."""
    seconds_left: float | None = None
    """Seconds of training left; None before the first update."""

    def write(self, folder: Path) -> None:
        """Write ``progress.json``, whole or not at all."""
        write_json(folder / PROGRESS, asdict(self))


def read_state(folder: Path) -> JobState | None:
    """Return the progress of a job; None without a readable file."""
    try:
        return JobState(**json.loads((folder / PROGRESS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
