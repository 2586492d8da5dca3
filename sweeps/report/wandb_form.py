"""A report in Weights & Biases: plain data, which ``lightning_modules.tracking`` takes there."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from datamodules.errors import UserError, one_line
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from lightning_modules.runs.files import read_tracker_id
from lightning_modules.runs.paths import FIGURES, TRACKER_REPORT
from lightning_modules.tracking.comparison_report import build_report, save_report, write_report
from lightning_modules.tracking.comparison_run import (
    ComparisonData,
    Line,
    PlainTable,
    metric_names,
    track,
)
from lightning_modules.tracking.names import with_interval
from lightning_modules.tracking.report_blocks import Block, Lines, Pictures, Tables
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.tables import Table
from sweeps.report.findings import Findings
from sweeps.report.report import Report

log = logging.getLogger(__name__)

FIRST_FIGURES = 3
"""Number of figures before the runs."""


def publish_online(report: Report, page: str, out: Path, logger: DictConfig) -> None:
    """Log a report as a W&B run, and save a W&B report of it.

    Args:
        report: the report, whose files are in ``out``.
        page: the page as HTML.
        out: the comparison's folder.
        logger: the group ``logger`` of the configuration.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    systems = ", ".join(system.label for system in report.findings.evaluation.systems)
    save_online(
        title=f"{report.findings.name}: {systems}",
        description="BLEU against sentence length",
        data=as_data(report, page, out),
        sections=report_sections(report),
        runs=run_ids(report.findings),
        again=f"python run.py task=report runs={out}",
        out=out,
        logger=logger,
    )


def save_online(
    title: str,
    description: str,
    data: ComparisonData,
    sections: Sequence[tuple[str, Sequence[Block]]],
    runs: Sequence[str],
    again: str,
    out: Path,
    logger: DictConfig,
) -> None:
    """Log what a page shows as a W&B run, and save a W&B report of it.

    Args:
        title: title of the report.
        description: what the report is about, in a line.
        data: what the run shows.
        sections: headings of the report with their blocks.
        runs: W&B ids of the runs that the page is about.
        again: command that saves the report later.
        out: folder of the page.
        logger: the group ``logger`` of the configuration.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    tracker = track(data, out, logger)
    made = build_report(title, description, sections, tracker.project, tracker.id, runs)
    write_report(made, out)
    tracker.close()
    if not tracker.online:
        log.info("W&B report: in %s; once the runs are on a server: %s", TRACKER_REPORT, again)
        return
    try:
        log.info("W&B report: %s", save_report(made, out))
    except Exception as error:
        line = f"W&B does not take the report ({one_line(error)}); later: {again}"
        if logger.mode == "online":
            raise UserError(line) from None
        log.warning(line)


def report_sections(report: Report) -> list[tuple[str, list[Block]]]:
    """Return the headings of the W&B report, each with its blocks; empty sections are left out."""
    return in_reading_order([(part.section.heading, part.blocks()) for part in report.parts])


def in_reading_order(
    sections: Sequence[tuple[str, Sequence[Block]]],
) -> list[tuple[str, list[Block]]]:
    """Put the first lines and three figures before the runs, and all else at the end."""
    lines: list[tuple[str, list[Block]]] = []
    first: list[tuple[str, list[Block]]] = []
    runs: list[tuple[str, list[Block]]] = []
    rest: list[tuple[str, list[Block]]] = []
    room = FIRST_FIGURES
    for heading, blocks in sections:
        for block in blocks:
            if isinstance(block, Pictures):
                now, later = block.names[:room], block.names[room:]
                room -= len(now)
                first.append((heading, [Pictures(now)]))
                rest.append((heading, [Pictures(later)]))
            elif isinstance(block, Lines):
                (lines if not lines or lines[0][0] == heading else rest).append((heading, [block]))
            else:
                (rest if isinstance(block, Tables) else runs).append((heading, [block]))
    return _joined([*lines, *first, *runs, *rest])


def _joined(sections: Sequence[tuple[str, list[Block]]]) -> list[tuple[str, list[Block]]]:
    """Join neighbours with the same heading; leave empty blocks out."""
    joined: list[tuple[str, list[Block]]] = []
    for heading, blocks in sections:
        shown = [block for block in blocks if not _is_empty(block)]
        if joined and joined[-1][0] == heading:
            joined[-1][1].extend(shown)
        elif shown:
            joined.append((heading, shown))
    return joined


def _is_empty(block: Block) -> bool:
    match block:
        case Lines(shown) | Pictures(shown) | Tables(shown):
            return not shown
    return False


def run_ids(findings: Findings) -> list[str]:
    """Return the W&B ids of the compared runs, without runs that were not tracked."""
    ids = (read_tracker_id(run.folder) for run in findings.comparison.runs)
    return [each for each in ids if each is not None]


def as_data(report: Report, page: str, out: Path) -> ComparisonData:
    """Return what the W&B run of the comparison shows."""
    evaluation = report.findings.evaluation
    return ComparisonData(
        name=report.findings.name,
        config=_run_config(report.findings, out),
        notes=report.findings.origin.command,
        summary=_summary(evaluation),
        axis=evaluation.scoring.length_axis,
        lines=[_line(evaluation, each) for each in _scored(evaluation)],
        pictures={name: out / FIGURES / f"{name}.png" for name in report.figures},
        tables={name: as_plain(table) for name, table in report.tables.items()},
        page=page,
    )


def _scored(evaluation: Evaluation) -> list[System]:
    return [*evaluation.systems, *evaluation.baselines]


def _summary(evaluation: Evaluation) -> dict[str, float]:
    """Return every score with its interval, on the whole test set and on each length bucket."""
    scored = _scored(evaluation)
    keys = metric_names(system.name for system in scored)
    named = evaluation.scoring.bucket_name
    parts: dict[Bounds | None, str] = {None: ""}
    parts.update((bounds, named(bounds)) for bounds in evaluation.bounds)
    return {
        name: value
        for system in scored
        for metric in evaluation.metrics
        for bounds, bucket in parts.items()
        if (estimate := evaluation.estimate(system, bounds, metric.name)) is not None
        for name, value in with_interval(
            f"test/{keys[system.name]}/{metric.name}", estimate, bucket
        ).items()
    }


def _line(evaluation: Evaluation, system: System) -> Line:
    points = {
        bounds: estimate.value
        for bounds in evaluation.bounds
        if (estimate := evaluation.estimate(system, bounds, "bleu")) is not None
    }
    lengths = [round(evaluation.mean_length(bounds), 1) for bounds in points]
    return Line(system.label, lengths, list(points.values()))


def _run_config(findings: Findings, out: Path) -> dict[str, Any]:
    evaluation, comparison = findings.evaluation, findings.comparison
    return {
        "comparison": findings.name,
        "folder": str(out),
        "systems": [system.name for system in evaluation.systems],
        "runs": run_ids(findings),
        "failed": [job.label for job in comparison.failed],
        "scoring": evaluation.scoring.model_dump(),
        "conditions": {each.name: asdict(each) for each in comparison.conditions},
        "fair": all(condition.holds for condition in comparison.conditions),
    }


def as_plain(table: Table) -> PlainTable:
    """Return the columns of the table's CSV file, so that W&B sorts numbers as numbers."""
    columns = [field for column in table.columns for field in column.fields]
    rows: list[Sequence[Any]] = [
        [
            value
            for column, cell in zip(table.columns, row, strict=True)
            for value in column.values(cell)
        ]
        for row in table.rows
    ]
    return PlainTable(columns, rows)
