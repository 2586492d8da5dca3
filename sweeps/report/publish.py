"""Publish a report in the comparison's folder, the terminal and Weights & Biases."""

from concurrent.futures import ThreadPoolExecutor
from os.path import relpath
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from datamodules.files import write_text
from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.picture_files import CAPTION, ENDINGS, NARROW, draw, write_pictures
from lightning_modules.metrics.chosen_metrics import signatures
from lightning_modules.runs.files import BrokenFileError, write_record
from lightning_modules.runs.paths import COMPARISON, CURVE, FIGURES, REPORT, TABLES
from lightning_modules.tracking.names import is_wandb
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.record import (
    ComparisonRecord,
    FailureRecord,
    RunRecord,
    SystemRecord,
    read_comparison,
)
from sweeps.comparison.table_files import FORMATS, write_tables
from sweeps.launch.live import Enter, shown_phases, silent
from sweeps.report.html import render_report, vega
from sweeps.report.report import Report
from sweeps.report.terminal import print_files, print_findings, print_page


def write_report(report: Report, out: Path) -> None:
    """Write the page, ``tables/`` and ``bleu_by_length.csv`` into ``out``; see ``write_figures``.

    Raises ``UserError`` for a section of the user that fails, before any file is written.
    """
    with ThreadPoolExecutor(1) as thread:
        script = thread.submit(vega)  # other threads of Python run meanwhile
        tables = list(report.tables.values())
        page = render_report(report)
        script.result()
    _remove_earlier(out)
    write_text(out / CURVE, report.findings.every_seed)
    write_tables(tables, out / TABLES)
    write_text(out / REPORT, page)


def write_figures(report: Report, out: Path, enter: Enter = silent) -> None:
    """Write ``figures/`` and then ``comparison.json``, which names all files of the report.

    ``enter`` is called with the figures being drawn. Raises ``UserError`` for a section of the user
    that fails.
    """
    written = 0
    with ThreadPoolExecutor(1) as thread:  # one figure is drawn while the next is described
        drawings = []
        for part in report.parts:
            enter(f"describing the figures for papers: {part.name}")
            for name, chart in part.files.items():
                with part.errors_in_one_line():
                    drawings.append((part, name, thread.submit(draw, as_spec(chart), name)))
        for part, name, drawing in drawings:
            with part.errors_in_one_line():
                write_pictures(drawing.result(), out / FIGURES / name)
            written += 1
            enter(f"drawing the figures for papers: {written} of {len(drawings)}")
    write_record(out / COMPARISON, _record(report, out))


def _remove_earlier(out: Path) -> None:
    """Remove the tables and figures that an earlier evaluation left in the same folder."""
    try:
        earlier = read_comparison(out)
    except BrokenFileError:
        return
    narrow = [f"{name}{NARROW}" for name in earlier.figures]
    for kind, names in ((TABLES, earlier.tables), (FIGURES, [*earlier.figures, *narrow])):
        for name in names:
            for ending in (*FORMATS, *ENDINGS, CAPTION):
                (out / kind / f"{Path(name).name}.{ending}").unlink(missing_ok=True)


def _record(report: Report, out: Path) -> ComparisonRecord:
    evaluation, comparison = report.findings.evaluation, report.findings.comparison
    return ComparisonRecord(
        name=report.findings.name,
        scoring=evaluation.scoring,
        resamples=evaluation.test_draws.count,
        signatures=_signatures(evaluation),
        systems=[
            SystemRecord(
                name=system.name,
                seeds=[output.seed for output in system.outputs],
                sentences=len(system.test.references),
            )
            for system in evaluation.systems
        ],
        tables=list(report.tables),
        figures=list(report.figures),
        conditions=comparison.conditions,
        runs=[
            RunRecord(label=run.name, folder=relpath(run.folder, out), **run.result.model_dump())
            for run in comparison.runs
        ],
        failed=[
            FailureRecord(label=job.label, folder=relpath(job.folder, out), error=job.error)
            for job in comparison.failed
        ],
    )


def _signatures(evaluation: Evaluation) -> dict[str, str]:
    """Return the signatures of metrics and of ``SENTENCE_BLEU``, of each test set."""
    of_tests = [signatures(test, evaluation.metrics) for test in evaluation.tests]
    return {
        name: " / ".join(dict.fromkeys(each[name] for each in of_tests)) for name in of_tests[0]
    }


def publish(report: Report, out: Path, logger: DictConfig | None) -> None:
    """Print what was found and where the page is, then draw the figures for papers.

    With the ``logger`` of W&B, log all of it there as a run and a report. Raises ``UserError`` if
    W&B fails, unless ``logger.mode`` is ``auto``.
    """
    console = Console()
    print_findings(report.findings, console)
    print_page(out / REPORT, console)
    with shown_phases() as enter:
        write_figures(report, out, enter)
    if logger is not None and is_wandb(logger):
        from sweeps.report.wandb_comparison import publish_comparison

        known = report.findings.origin.wandb
        publish_comparison(report, (out / REPORT).read_text(encoding="utf-8"), out, logger)
        if report.findings.origin.wandb != known:
            write_text(out / REPORT, render_report(report))  # now with the link
    print_files(out, console)
