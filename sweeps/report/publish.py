"""Publish a report in the comparison's folder, the terminal and Weights & Biases."""

from collections.abc import Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from datamodules.files import write_text
from lightning_modules.figures.charts import Pictures, as_spec, draw
from lightning_modules.tracking.early_import import WANDB
from sweeps.report.contents import write_files
from sweeps.report.html import render_report, vega
from sweeps.report.report import Part, Report
from sweeps.report.terminal import print_page, print_report

PAGE = "report.html"
Drawing = tuple[Part, str, Future[Pictures]]
"""The section of a figure, the name of the figure, and its pictures as soon as they are drawn."""


def write_all(report: Report, out: Path) -> None:
    """Write tables, figures and the page into ``out``.

    Raises ``UserError`` for a section of the user that fails, before any file is written.
    """
    with ThreadPoolExecutor(1) as thread:  # other threads of Python run while one draws
        script = thread.submit(vega)
        drawings = _start_drawing(report, thread)
        script.result()
        page = render_report(report)
    write_files(report, _finished(drawings), out)
    write_text(out / PAGE, page)


def _start_drawing(report: Report, thread: Executor) -> list[Drawing]:
    drawings = []
    for part in report.parts:
        for name, chart in part.files.items():
            with part.blamed():
                drawings.append((part, name, thread.submit(draw, as_spec(chart))))
    return drawings


def _finished(drawings: Iterable[Drawing]) -> dict[str, Pictures]:
    pictures = {}
    for part, name, drawing in drawings:
        with part.blamed():
            pictures[name] = drawing.result()
    return pictures


def publish(report: Report, out: Path, logger: DictConfig) -> None:
    """Print the report; if the ``logger`` is that of W&B, log it there as a run and a report.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    console = Console()
    print_report(report, console)
    if logger.get("_target_") == WANDB:
        from sweeps.report.wandb_form import publish_online

        known = report.findings.origin.wandb
        publish_online(report, (out / PAGE).read_text(encoding="utf-8"), out, logger)
        if report.findings.origin.wandb != known:
            write_text(out / PAGE, render_report(report))  # now with the link
    print_page(out / PAGE, console)
