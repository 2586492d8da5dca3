"""A comparison as a W&B run of its own, with curves, tables, figures and the page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import wandb
from omegaconf import DictConfig

from lightning_modules.runs.schema import TRACKER_ID
from lightning_modules.tracking.failsafe_run import FailsafeRun
from lightning_modules.tracking.names import LENGTH, define_curves
from lightning_modules.tracking.start import start_run

JOB_TYPE = "compare"
PATIENCE_SECONDS = 10.0
"""Time limit of tables and the page; no training waits for these calls."""
PICTURES, TABLES, PAGE = "figures", "tables", "report"
"""Names under which figures, tables and the page are logged."""
SCORES = ("bleu", "bleu_low", "bleu_high")


class Bucket(NamedTuple):
    """BLEU of the systems on the sentences of one range of lengths."""

    length: int
    """Upper end of the range."""
    scores: Mapping[str, tuple[float, float | None, float | None]]
    """BLEU by system, and the ends of its interval."""


class PlainTable(NamedTuple):
    """A table of numbers and texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class ComparisonData:
    """What the run of a comparison shows."""

    name: str
    config: Mapping[str, Any]
    systems: Sequence[str]
    """Names of the systems, then of the baselines."""
    buckets: Sequence[Bucket]
    whole: Mapping[str, Mapping[str, float]]
    """Scores on the whole test set, by metric and system."""
    pictures: Mapping[str, Path]
    tables: Mapping[str, PlainTable]
    page: str
    """The page as HTML."""


def track(shown: ComparisonData, out: Path, logger: DictConfig) -> FailsafeRun:
    """Log a comparison into a run of its own, which the caller closes.

    Args:
        shown: what the run shows.
        out: the comparison's folder, which keeps the id of the run.
        logger: the group ``logger`` of the configuration.
    """
    tracker = start_tracker(JOB_TYPE, shown.name, out, logger)
    tracker.describe(shown.config)
    tracker.send(partial(_log_curves, shown=shown, names=metric_names(shown.systems)))
    tracker.send(partial(log_pictures, pictures=shown.pictures))
    tracker.send(partial(log_tables, tables=shown.tables), PATIENCE_SECONDS)
    tracker.send(partial(_log_page, page=shown.page), PATIENCE_SECONDS)
    return tracker


def start_tracker(job_type: str, name: str, out: Path, logger: DictConfig) -> FailsafeRun:
    """Start a run that is no training; its id is kept in ``out``, the output folder."""
    (out / TRACKER_ID).unlink(missing_ok=True)  # of an earlier command in the same folder
    run = start_run(
        save_dir=Path(logger.save_dir),
        folder=out,
        mode=logger.mode,
        finish_seconds=logger.finish_seconds,
        project=logger.project,
        name=name,
        group=job_type,
        tags=[job_type],
        job_type=job_type,
    )
    return FailsafeRun(run)


def metric_names(systems: Iterable[str]) -> dict[str, str]:
    """Return a unique name for each system, without characters that have a meaning in W&B."""
    names: dict[str, str] = {}
    for system in systems:
        plain = re.sub(r"\W+", "_", system).strip("_") or "system"
        number = 2
        name = plain
        while name in names.values():
            name, number = f"{plain}_{number}", number + 1
        names[system] = name
    return names


def _log_curves(run: wandb.Run, shown: ComparisonData, names: Mapping[str, str]) -> None:
    """Log a row for each length bucket: BLEU and its interval, for every system."""
    define_curves(run, (f"{part}/{name}" for part in SCORES for name in names.values()))
    for bucket in shown.buckets:
        row = {
            f"{part}/{names[system]}": value
            for system, values in bucket.scores.items()
            for part, value in zip(SCORES, values, strict=True)
            if value is not None
        }
        run.log({LENGTH: bucket.length, **row})
    for metric, scores in shown.whole.items():
        for system, score in scores.items():
            run.summary[f"test_{metric}/{names[system]}"] = score


def log_pictures(run: wandb.Run, pictures: Mapping[str, Path]) -> None:
    """Log files of figures by name."""
    run.log({f"{PICTURES}/{name}": wandb.Image(str(file)) for name, file in pictures.items()})


def log_tables(run: wandb.Run, tables: Mapping[str, PlainTable]) -> None:
    """Log tables by name."""
    run.log(
        {
            f"{TABLES}/{name}": wandb.Table(
                columns=list(table.columns), data=list(table.rows), allow_mixed_types=True
            )
            for name, table in tables.items()
        }
    )


def _log_page(run: wandb.Run, page: str) -> None:
    run.log({PAGE: wandb.Html(page, inject=False)})
