"""Where findings go: the comparison's folder, the terminal, Weights & Biases."""

import logging
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from datamodules.errors import UserError
from datamodules.files import write_text
from lightning_modules.tracking.mode import in_a_line
from sweeps.findings import Findings, write_findings
from sweeps.report import render_report
from sweeps.summary import print_findings

log = logging.getLogger(__name__)

REPORT = "report.html"


def write_all(findings: Findings, out: Path) -> None:
    """Write tables, figures and the page into ``out``."""
    write_findings(findings, out)
    write_text(out / REPORT, render_report(findings))


def tell(findings: Findings, out: Path, logger: DictConfig) -> None:
    """Print what was found and, if ``logger`` says so, log it to W&B with a report there.

    Raises ``UserError`` if W&B was insisted on and is not to be had.
    """
    print_findings(findings, out / REPORT, Console())
    if logger:
        _to_wandb(findings, out, logger)


def _to_wandb(findings: Findings, out: Path, logger: DictConfig) -> None:
    from sweeps.tracking import track
    from sweeps.wandb_report import FILE, build_report, save_report, write_report

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
        line = f"W&B does not take the report ({in_a_line(error)}); later: {later}"
        if logger.mode == "online":
            raise UserError(line) from None
        log.warning(line)
