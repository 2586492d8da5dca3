"""``comparison.json``: its content, read and written."""

from os.path import normpath, relpath
from pathlib import Path
from typing import Any

from pydantic import field_serializer

from lightning_modules.runs.reader import BrokenFileError, read_record
from lightning_modules.runs.schema import COMPARISON, Record, Result
from lightning_modules.runs.writer import write_record
from lightning_modules.testing.scoring_settings import Scoring
from sweeps.comparison.collect import FailedJob, Run
from sweeps.comparison.condition import Condition


class SystemRecord(Record):
    """A scored system."""

    name: str
    seeds: list[int]
    sentences: int
    """Number of test sentences."""


class Job(Record):
    """A job of the comparison."""

    label: str
    folder: str
    """Path relative to the comparison, so that a sweep's folder can be moved with its runs."""


class RunRecord(Result, Job):
    """A finished run with its ``result.json``."""

    @classmethod
    def of(cls, run: Run, out: Path) -> "RunRecord":
        """Return the record of a run in the comparison in ``out``."""
        return cls(label=run.name, folder=relpath(run.folder, out), **run.result.model_dump())


class FailureRecord(Job):
    """A job without a result."""

    error: str

    @classmethod
    def of(cls, job: FailedJob, out: Path) -> "FailureRecord":
        """Return the record of a failed job in the comparison in ``out``."""
        return cls(label=job.label, folder=relpath(job.folder, out), error=job.error)


class ComparisonRecord(Record):
    """Content of ``comparison.json``."""

    name: str
    scoring: Scoring
    """Written without ``attention_step``, since every run has a step of its own."""
    resamples: int
    """Number of resamples drawn, at least those of ``scoring``."""
    signatures: dict[str, str]
    """Signatures of sacreBLEU by score."""
    systems: list[SystemRecord]
    tables: list[str]
    """Names of the files in ``tables/``, without ending."""
    figures: list[str]
    """Names of the files in ``figures/``, without ending."""
    conditions: list[Condition]
    runs: list[RunRecord]
    """Finished runs; none in an evaluation of text files."""
    failed: list[FailureRecord]

    @field_serializer("scoring")
    def _common(self, scoring: Scoring) -> dict[str, Any]:
        return scoring.model_dump(exclude={"attention_step"})

    def folders(self, out: Path) -> list[Path]:
        """Return the folders of all jobs of the comparison in ``out``."""
        jobs: list[Job] = [*self.runs, *self.failed]
        return [Path(normpath(out / job.folder)) for job in jobs]


def write_comparison(out: Path, record: ComparisonRecord) -> None:
    """Write ``comparison.json`` into ``out``, whole or not at all."""
    write_record(out / COMPARISON, record)


def read_comparison(out: Path) -> ComparisonRecord:
    """Read ``comparison.json`` in ``out``. Raises ``BrokenFileError``, also for no file."""
    try:
        return read_record(ComparisonRecord, out / COMPARISON)
    except (OSError, BrokenFileError) as error:
        raise BrokenFileError(f"{out}: {error}") from None
