"""A comparison as a W&B run of its own, with scores, a chart, tables, figures and the page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import wandb
from omegaconf import DictConfig

from lightning_modules.tracking.failsafe_run import FailsafeRun
from lightning_modules.tracking.names import CURVE, tag_of
from lightning_modules.tracking.start import start_run

JOB_TYPE = "compare"
PATIENCE_SECONDS = 10.0
"""Time limit of tables and the page; no training waits for these calls."""
PICTURES, TABLES, PAGE = "figures", "tables", "report"
"""Names under which figures, tables and the page are logged."""


class Line(NamedTuple):
    """BLEU of one system against length."""

    system: str
    lengths: Sequence[float]
    """Mean length of the sentences of each bucket."""
    scores: Sequence[float]


class PlainTable(NamedTuple):
    """A table of numbers and texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class ComparisonData:
    """What the run of a comparison shows."""

    name: str
    config: Mapping[str, Any]
    notes: str | None
    """The command that made the comparison, if known."""
    summary: Mapping[str, float]
    """Scores with their intervals, by the names of metrics."""
    axis: str
    """Title of the axis of lengths."""
    lines: Sequence[Line]
    """BLEU against length, of the systems and then of the baselines."""
    pictures: Mapping[str, Path]
    tables: Mapping[str, PlainTable]
    page: str
    """The page as HTML."""


def track(shown: ComparisonData, out: Path, logger: DictConfig) -> FailsafeRun:
    """Log a comparison into a run of its own, which the caller closes.

    A comparison that was logged before is replaced.

    Args:
        shown: what the run shows.
        out: the comparison's folder, which keeps the id of the run.
        logger: the group ``logger`` of the configuration.
    """
    tags = [JOB_TYPE, tag_of(shown.name)]
    tracker = start_tracker(JOB_TYPE, shown.name, out, logger, tags=tags, notes=shown.notes)
    tracker.describe(shown.config)
    tracker.send(lambda run: run.summary.update(dict(shown.summary)))
    if shown.lines:
        tracker.send(partial(_log_chart, shown=shown), PATIENCE_SECONDS)
    tracker.send(partial(log_pictures, pictures=shown.pictures, of=shown.name))
    tracker.send(partial(log_tables, tables=shown.tables), PATIENCE_SECONDS)
    tracker.send(partial(_log_page, page=shown.page), PATIENCE_SECONDS)
    return tracker


def start_tracker(
    job_type: str, name: str, out: Path, logger: DictConfig, **labels: Any
) -> FailsafeRun:
    """Start a run that is no training; its id is kept in ``out``, the output folder.

    A later command in the same folder replaces the run, as it replaces the files.
    """
    run = start_run(
        save_dir=Path(logger.save_dir),
        folder=out,
        mode=logger.mode,
        finish_seconds=logger.finish_seconds,
        replace=True,
        project=logger.project,
        name=name,
        group=job_type,
        job_type=job_type,
        **labels,
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


def _log_chart(run: wandb.Run, shown: ComparisonData) -> None:
    """Log one chart with a line for each system."""
    chart = wandb.plot.line_series(
        xs=[line.lengths for line in shown.lines],
        ys=[line.scores for line in shown.lines],
        keys=[line.system for line in shown.lines],
        title="BLEU against sentence length",
        xname=shown.axis,
    )
    run.log({CURVE: chart})


def log_pictures(run: wandb.Run, pictures: Mapping[str, Path], of: str) -> None:
    """Log files of figures by name, each with the text beside it as its caption.

    ``of`` says what they are figures of.
    """
    images = {}
    for name, file in pictures.items():
        beside = file.with_suffix(".txt")  # charts.CAPTION, whose file imports Altair
        text = beside.read_text(encoding="utf-8") if beside.is_file() else ""
        caption = f"{name.replace('_', ' ')}: {of}\n{text}".strip()
        images[f"{PICTURES}/{name}"] = wandb.Image(str(file), caption=caption)
    run.log(images)


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
