"""A comparison as a W&B run of its own, with curves, tables, figures and the page."""

import re
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import wandb
from omegaconf import DictConfig

from lightning_modules.runs.reader import read_tracker_id
from lightning_modules.runs.schema import TRACKER_ID
from lightning_modules.tracking.failsafe_run import FailsafeRun
from lightning_modules.tracking.names import LENGTH, define_curves
from lightning_modules.tracking.start import start_run
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.tables import Table
from sweeps.report.contents import FIGURES, TABLES, Findings

JOB_TYPE = "compare"
PATIENCE_SECONDS = 10.0
"""Time limit of tables and the page; no training waits for these calls."""
PAGE = "report"


def track(findings: Findings, page: str, out: Path, logger: DictConfig) -> FailsafeRun:
    """Log a comparison into a run of its own, which the caller closes.

    Args:
        findings: findings of the comparison.
        page: the report, as HTML.
        out: the comparison's folder, with its figures.
        logger: the group ``logger`` of the configuration.
    """
    (out / TRACKER_ID).unlink(missing_ok=True)  # of an earlier comparison in the same folder
    run = start_run(
        save_dir=Path(logger.save_dir),
        folder=out,
        mode=logger.mode,
        finish_seconds=logger.finish_seconds,
        project=logger.project,
        name=findings.name,
        group=JOB_TYPE,
        tags=[JOB_TYPE],
        job_type=JOB_TYPE,
    )
    tracker = FailsafeRun(run)
    tracker.describe(_run_config(findings, out))
    names = metric_names([system.name for system in findings.evaluation.systems])
    tracker.send(partial(_log_curves, evaluation=findings.evaluation, names=names))
    tracker.send(partial(_log_figures, folder=out / FIGURES, names=list(findings.printed)))
    tracker.send(partial(_log_tables, tables=findings.tables.values()), PATIENCE_SECONDS)
    tracker.send(lambda run: run.log({PAGE: wandb.Html(page, inject=False)}), PATIENCE_SECONDS)
    return tracker


def run_ids(findings: Findings) -> list[str]:
    """Return the W&B ids of the compared runs, without runs that were not tracked."""
    ids = (read_tracker_id(run.folder) for run in findings.comparison.runs)
    return [each for each in ids if each is not None]


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


def _log_curves(run: wandb.Run, evaluation: Evaluation, names: dict[str, str]) -> None:
    """Log a row for each length bucket: BLEU and its interval, for every system."""
    parts = ("bleu", "bleu_low", "bleu_high")
    define_curves(run, (f"{part}/{name}" for part in parts for name in names.values()))
    for bounds in evaluation.bounds:
        row: dict[str, float] = {}
        for system in evaluation.systems:
            estimate = evaluation.estimate(system, bounds, "bleu")
            values = (estimate.value, estimate.low, estimate.high) if estimate else (None,) * 3
            for part, value in zip(parts, values, strict=True):
                if value is not None:
                    row[f"{part}/{names[system.name]}"] = value
        run.log({LENGTH: bounds.high or bounds.low, **row})
    for system in evaluation.systems:
        if (whole := evaluation.estimate(system, None, "bleu")) is not None:
            run.summary[f"test_bleu/{names[system.name]}"] = whole.value


def _log_figures(run: wandb.Run, folder: Path, names: list[str]) -> None:
    run.log({f"{FIGURES}/{name}": wandb.Image(str(folder / f"{name}.png")) for name in names})


def _log_tables(run: wandb.Run, tables: Iterable[Table]) -> None:
    run.log({f"{TABLES}/{table.name}": _as_wandb(table) for table in tables})


def _as_wandb(table: Table) -> wandb.Table:
    """Return the columns of the table's CSV file, so that W&B sorts numbers as numbers."""
    columns: list[str | int] = [field for column in table.columns for field in column.fields]
    rows = [
        [
            value
            for column, cell in zip(table.columns, row, strict=True)
            for value in column.values(cell)
        ]
        for row in table.rows
    ]
    return wandb.Table(columns=columns, data=rows, allow_mixed_types=True)
