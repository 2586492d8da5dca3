"""Publish a report in the comparison's folder, the terminal and Weights & Biases."""

from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from datamodules.files import write_text
from sweeps.report.contents import write_files
from sweeps.report.html import render_report
from sweeps.report.report import Report
from sweeps.report.terminal import print_report

PAGE = "report.html"
WANDB = "lightning_modules.tracking.trackers.wandb_tracker.WandbTracker"
"""The logger that takes reports."""


def write_all(report: Report, out: Path) -> None:
    """Write tables, figures and the page into ``out``."""
    page = render_report(report)
    write_files(report, out)
    write_text(out / PAGE, page)


def publish(report: Report, out: Path, logger: DictConfig) -> None:
    """Print the report; if the ``logger`` is that of W&B, log it there as a run and a report.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    print_report(report, out / PAGE, Console())
    if logger.get("_target_") == WANDB:
        from sweeps.report.wandb_form import publish_online

        publish_online(report, (out / PAGE).read_text(encoding="utf-8"), out, logger)
