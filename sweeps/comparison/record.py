"""``comparison.json``: its content, read and written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os.path import normpath
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from lightning_modules.runs.files import BrokenFileError, read_record, read_report_url
from lightning_modules.runs.job import command
from lightning_modules.runs.paths import COMPARISON, HYDRA, MULTIRUN, RESULT
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Record, Result
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.conditions import Condition


class SystemRecord(Record):
    """A scored system."""

    name: str
    seeds: list[int]
    sentences: int  # number of test sentences


class JobRecord(Record):
    """A job of the comparison."""

    label: str
    folder: str
    """Path relative to the comparison, so that a sweep's folder can be moved with its runs."""


class RunRecord(Result, JobRecord):
    """A finished run with its ``result.json``."""


class FailureRecord(JobRecord):
    """A job without a result."""

    error: str


class ComparisonRecord(Record):
    """Content of ``comparison.json``."""

    name: str
    scoring: Scoring
    resamples: int  # most resamples of a test, at least those of `scoring`
    signatures: dict[str, str]  # signatures of sacreBLEU by score
    systems: list[SystemRecord]
    tables: list[str]  # names of the files in `tables/`, without ending
    figures: list[str]  # names of the files in `figures/`, without ending
    conditions: list[Condition]
    runs: list[RunRecord]  # finished runs; none in an evaluation of text files
    failed: list[FailureRecord]

    def folders(self, out: Path) -> list[Path]:
        """Return the folders of all jobs of the comparison in ``out``."""
        jobs: list[JobRecord] = [*self.runs, *self.failed]
        return [Path(normpath(out / job.folder)) for job in jobs]


def read_comparison(out: Path) -> ComparisonRecord:
    """Read ``comparison.json`` in ``out``. Raises ``BrokenFileError``, also for no file."""
    try:
        return read_record(ComparisonRecord, out / COMPARISON)
    except OSError as error:
        raise BrokenFileError(str(error)) from None


@dataclass(frozen=True)
class Origin:
    """How a comparison came about: its question, command and date."""

    title: str | None = None  # `about.title` of the configuration
    question: str | None = None
    papers: Sequence[str] = ()  # addresses of the papers that the question comes from
    command: str | None = None
    date: str | None = None
    """Day on which the last run ended, or the evaluation was made: ``2026-01-31``."""
    folder: Path | None = None

    @property
    def wandb(self) -> str | None:
        """Address of the report in W&B; None where no server has it, or not yet."""
        return read_report_url(self.folder) if self.folder is not None else None


def origin_of(out: Path, runs: Iterable[Path] = ()) -> Origin:
    """Return what the folder ``out`` of a comparison and the folders of its runs know."""
    about = (_kept(out, "config.yaml") or {}).get("about") or {}
    ends = [folder / RESULT for folder in runs] or [out]
    times = [file.stat().st_mtime for file in ends if file.exists()]
    return Origin(
        title=about.get("title"),
        question=about.get("question"),
        papers=tuple(about.get("papers") or ()),
        command=command_of(out),
        date=datetime.fromtimestamp(max(times), UTC).date().isoformat() if times else None,
        folder=out,
    )


def command_of(out: Path) -> str | None:
    """Return the command behind the folder ``out``, without passwords; None if Hydra kept none."""
    content = _kept(out, "hydra.yaml") or {}
    overrides = (content.get("hydra") or {}).get("overrides")
    if overrides is None:
        return None
    multirun = ["-m"] if "hydra.mode=MULTIRUN" in overrides["hydra"] else []
    return command(*multirun, *redacted(overrides["task"]))


def _kept(out: Path, name: str) -> dict[str, Any] | None:
    """Return what Hydra kept of a multirun, or else in its file ``name`` of a single run."""
    for file in (out / MULTIRUN, out / HYDRA / name):
        if file.is_file():
            content: Any = OmegaConf.to_container(OmegaConf.load(file))
            return dict(content)
    return None
