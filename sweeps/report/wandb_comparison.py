"""A comparison in Weights & Biases: what its run and its report show."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from lightning_modules.figures.palette import looks_of
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from lightning_modules.runs.files import read_tracker_id
from lightning_modules.runs.job import command, quoted
from lightning_modules.runs.paths import FIGURES
from lightning_modules.tracking.names import tracked_system, with_interval
from lightning_modules.tracking.wandb_report import (
    ReportSection,
    TrackedRun,
    WandbPage,
    metric_names,
    publish_page,
)
from sweeps.comparison.evaluation import Evaluation
from sweeps.report.findings import Findings
from sweeps.report.page_top import PageTop
from sweeps.report.report import Report


def publish_comparison(report: Report, page: str, out: Path, logger: DictConfig) -> None:
    """Log a report, whose files are in ``out``, as a W&B run, and save a W&B report of it.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    again = command("task=report", f"runs={quoted(out)}")
    publish_page(comparison_page(report, page, out), out, logger, again)


def comparison_page(report: Report, page: str, out: Path) -> WandbPage:
    """Return what W&B gets of a comparison."""
    findings = report.findings
    evaluation = findings.evaluation
    top = PageTop(findings)
    return WandbPage(
        job_type="compare",
        name=findings.name,
        config=_config(findings, out),
        summary=_summary(evaluation),
        pictures={name: out / FIGURES / f"{name}.png" for name in report.figures},
        tables={name: (table.fields, table.values) for name, table in report.tables.items()},
        page=page,
        notes=findings.origin.command,
        lines={each.label: _line(evaluation, each) for each in _scored(evaluation)},
        length_axis=evaluation.length_axis,
        title=top.title,
        description=" ".join(
            filter(None, (top.question, findings.answer, findings.weak, findings.behind))
        ),
        sections=report_sections(report),
        runs=tracked_runs(findings),
        studies=findings.studies.parameters if findings.studies else None,
    )


def report_sections(report: Report) -> list[ReportSection]:
    """Return the sections of the W&B report: the lines, figures and tables of each part."""
    return [
        ReportSection(part.section.heading, part.lines, list(part.figures), list(part.tables))
        for part in report.parts
    ]


def tracked_runs(findings: Findings) -> list[TrackedRun]:
    """Return the runs that W&B has, each once, in the colours of the page."""
    looks = looks_of(system.name for system in findings.evaluation.systems)
    found: dict[str, TrackedRun] = {}
    for run in findings.comparison.runs:
        if (id := read_tracker_id(run.folder)) is not None:
            system = tracked_system(run.result.variant, run.result.overrides, run.result.config)
            found[id] = TrackedRun(id, system, looks[run.name].colour)
    return list(found.values())


def run_ids(folders: Iterable[Path]) -> list[str]:
    """Return the W&B ids of runs, each once, without runs that were not tracked."""
    ids = (read_tracker_id(folder) for folder in dict.fromkeys(folders))
    return [each for each in ids if each is not None]


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


def _line(evaluation: Evaluation, system: System) -> dict[float, float]:
    """Return BLEU by the mean length of the sentences of each bucket."""
    return {
        round(evaluation.mean_length(bounds), 1): bleu
        for bounds in evaluation.bounds
        if (bleu := evaluation.mean(system, bounds, "bleu")) is not None
    }


def _config(findings: Findings, out: Path) -> dict[str, Any]:
    evaluation, comparison = findings.evaluation, findings.comparison
    return {
        "comparison": findings.name,
        "folder": str(out),
        "systems": [system.name for system in evaluation.systems],
        "runs": run_ids(run.folder for run in comparison.runs),
        "failed": [job.label for job in comparison.failed],
        "scoring": evaluation.scoring.model_dump(),
        "conditions": {each.name: asdict(each) for each in comparison.conditions},
        "fair": all(condition.holds for condition in comparison.conditions),
    }
