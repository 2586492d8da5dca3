"""The page of one run: a comparison of one, made of what the run has recorded."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import vl_convert
from omegaconf import DictConfig

from datamodules.errors import UserError, validated
from datamodules.files import write_text
from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.picture_files import PNG_SCALE
from lightning_modules.runs.files import read_curve, read_result
from lightning_modules.runs.job import command
from lightning_modules.runs.paths import REPORT, RESULT
from lightning_modules.testing.scoring import Scoring
from lightning_modules.tracking.run_page import PagePicture, RunPage
from sweeps.comparison.collect import collect
from sweeps.comparison.record import Origin
from sweeps.comparison.recorded import recorded_evaluation
from sweeps.report.findings import Findings
from sweeps.report.html import render_report, vega
from sweeps.report.report import Report, ReportSettings, make_report

TRACKED = ("attention", "learning_")
"""Beginnings of the names of figures that a tracker draws itself, or has from the test."""


def write_run_page(config: DictConfig, folder: Path) -> RunPage:
    """Write the page of a finished run as ``write_run_report`` does, for a tracker."""
    report, page = write_run_report(config, folder)
    return RunPage(page, lambda: _pictures(report))


def write_run_report(config: DictConfig, folder: Path) -> tuple[Report, str]:
    """Write ``report.html`` into the folder of a finished run, whole or not at all; return both.

    ``config`` has the settings of the report. Raises ``UserError`` for a folder without a finished
    run, and for a section of the user that fails.
    """
    settings = validated(ReportSettings, config.report, "report")
    with ThreadPoolExecutor(1) as thread:
        thread.submit(vega)  # takes a second, in which other threads of Python run
        report = report_of_run(folder, settings)
        page = render_report(report)
    write_text(folder / REPORT, page)
    return report, page


def report_of_run(folder: Path, settings: ReportSettings) -> Report:
    """Return the report of a run. Raises ``UserError`` for a folder without a finished run."""
    result = read_result(folder)
    if result is None:
        raise UserError(f"runs={folder}: has no result; name a finished run")
    scoring = Scoring.model_validate(result.config["scoring"])
    comparison = collect([folder], recorded=True, words=scoring)
    if not comparison.runs:
        raise UserError(f"runs={folder}: {comparison.failed[0].error}; name a finished run")
    [run] = comparison.runs
    curve = read_curve(folder)
    ended = datetime.fromtimestamp((folder / RESULT).stat().st_mtime, UTC)
    findings = Findings(
        folder.resolve().name,
        recorded_evaluation(run, scoring, curve),
        comparison,
        origin=Origin(command=command(*run.result.overrides), date=ended.date().isoformat()),
        curve=curve,
    )
    return make_report(findings, settings)


def _pictures(report: Report) -> Mapping[str, PagePicture]:
    return {
        name: PagePicture(
            vl_convert.vegalite_to_png(spec := as_spec(chart), scale=PNG_SCALE),
            spec.get("usermeta", {}).get("caption", ""),
        )
        for name, chart in report.figures.items()
        if not name.startswith(TRACKED)
    }
