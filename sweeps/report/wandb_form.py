"""A report in Weights & Biases: plain data, which ``lightning_modules.tracking`` takes there."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from datamodules.errors import UserError, one_line
from lightning_modules.runs.reader import read_tracker_id
from lightning_modules.tracking.comparison_report import (
    FILE,
    build_report,
    save_report,
    write_report,
)
from lightning_modules.tracking.comparison_run import Bucket, ComparisonData, PlainTable, track
from lightning_modules.tracking.report_blocks import Block, Lines, Pictures, Tables
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.tables import Table
from sweeps.report.contents import FIGURES
from sweeps.report.findings import Findings
from sweeps.report.report import Report

log = logging.getLogger(__name__)

WHOLE = ("bleu", "exact")
"""Scores of the whole test set in the summary of the W&B run."""


def publish_online(report: Report, page: str, out: Path, logger: DictConfig) -> None:
    """Log a report as a W&B run, and save a W&B report of it.

    Args:
        report: the report, whose files are in ``out``.
        page: the page as HTML.
        out: the comparison's folder.
        logger: the group ``logger`` of the configuration.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    sections = report_sections(report)
    tracker = track(as_data(report, page, out), out, logger)
    systems = ", ".join(system.name for system in report.findings.evaluation.systems)
    title = f"{report.findings.name}: {systems}"
    made = build_report(title, sections, tracker.project, tracker.id, run_ids(report.findings))
    write_report(made, out)
    tracker.close()
    later = f"python run.py task=report runs={out}"
    if not tracker.online:
        log.info("W&B report: in %s; once the runs are on a server: %s", FILE, later)
        return
    try:
        log.info("W&B report: %s", save_report(made, out))
    except Exception as error:
        line = f"W&B does not take the report ({one_line(error)}); later: {later}"
        if logger.mode == "online":
            raise UserError(line) from None
        log.warning(line)


def report_sections(report: Report) -> list[tuple[str, list[Block]]]:
    """Return the headings of the W&B report, each with its blocks; empty sections are left out."""
    sections = [
        (part.section.heading, [block for block in part.blocks() if not _is_empty(block)])
        for part in report.parts
    ]
    return [(heading, blocks) for heading, blocks in sections if blocks]


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
    whole = {
        metric: {
            system.name: estimate.value
            for system in (*evaluation.systems, *evaluation.baselines)
            if (estimate := evaluation.estimate(system, None, metric)) is not None
        }
        for metric in WHOLE
    }
    return ComparisonData(
        name=report.findings.name,
        config=_run_config(report.findings, out),
        systems=[system.name for system in (*evaluation.systems, *evaluation.baselines)],
        buckets=list(_buckets(evaluation)),
        whole=whole,
        pictures={name: out / FIGURES / f"{name}.png" for name in report.figures},
        tables={name: as_plain(table) for name, table in report.tables.items()},
        page=page,
    )


def _buckets(evaluation: Evaluation) -> Iterator[Bucket]:
    for bounds in evaluation.bounds:
        estimates = {
            system.name: estimate
            for system in (*evaluation.systems, *evaluation.baselines)
            if (estimate := evaluation.estimate(system, bounds, "bleu")) is not None
        }
        yield Bucket(
            bounds.high or bounds.low,
            {name: (each.value, each.low, each.high) for name, each in estimates.items()},
        )


def _run_config(findings: Findings, out: Path) -> dict[str, Any]:
    evaluation, comparison = findings.evaluation, findings.comparison
    return {
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
