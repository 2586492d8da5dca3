"""Publish findings in the comparison's folder, the terminal and Weights & Biases."""

import logging
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from datamodules.errors import UserError
from datamodules.files import write_text
from lightning_modules.tracking.mode import one_line
from sweeps.report.contents import Findings, write_findings
from sweeps.report.html import render_report
from sweeps.report.terminal import print_findings

log = logging.getLogger(__name__)

REPORT = "report.html"


def write_all(findings: Findings, out: Path) -> None:
    """Write tables, figures and the page into ``out``."""
    write_findings(findings, out)
    write_text(out / REPORT, render_report(findings))


def publish(findings: Findings, out: Path, logger: DictConfig) -> None:
    """Print the findings and, with a ``logger``, log them to W&B with a W&B report.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    print_findings(findings, out / REPORT, Console())
    if logger:
        _to_wandb(findings, out, logger)


def _to_wandb(findings: Findings, out: Path, logger: DictConfig) -> None:
    from sweeps.report.wandb_report import FILE, build_report, save_report, write_report
    from sweeps.report.wandb_run import track

    tracker = track(findings, (out / REPORT).read_text(encoding="utf-8"), out, logger)
    report = build_report(findings, tracker.project, tracker.id)
    write_report(report, out)
    tracker.close()
    later = f"python run.py task=report runs={out}"
    if not tracker.online:
        log.info("W&B report: in %s; once the runs are on a server: %s", FILE, later)
        return
    try:
        log.info("W&B report: %s", save_report(report, out))
    except Exception as error:
        line = f"W&B does not take the report ({one_line(error)}); later: {later}"
        if logger.mode == "online":
            raise UserError(line) from None
        log.warning(line)
