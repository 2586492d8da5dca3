"""Build a comparison from run folders, into a folder of its own."""

from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from datamodules.errors import UserError
from datamodules.files import write_text
from lightning_modules.run_folder import find_runs
from lightning_modules.settings import Scoring, build_scoring
from sweeps.comparison import collect
from sweeps.evaluation.evaluation import evaluate
from sweeps.findings import Findings, find, write_findings
from sweeps.report import render_report
from sweeps.summary import print_findings

REPORT = "report.html"


def compare(config: DictConfig) -> None:
    """Task: compare ``config.runs``, each a run folder or a folder of runs.

    Raises ``UserError`` when there is nothing to compare.
    """
    named = [config.runs] if isinstance(config.runs, str) else list(config.runs or [])
    if not named:
        raise UserError("nothing to compare: name run folders, like runs=[DIR,DIR]")
    runs: list[Path] = []
    for folder in map(Path, named):
        found = find_runs(folder)
        if not found:
            raise UserError(f"{folder} is no run and holds none: name the folder of a run or sweep")
        runs += found
    out = Path(HydraConfig.get().runtime.output_dir)
    findings = build_comparison(runs, out, build_scoring(config))
    print_findings(findings, out / REPORT, Console())


def build_comparison(run_dirs: Sequence[Path], out: Path, scoring: Scoring) -> Findings:
    """Compare runs and write what was found into ``out``, each file whole or not at all.

    Raises ``UserError`` that names the failures when no run finished.
    """
    comparison = collect(run_dirs, scoring.ter)
    if not comparison.runs:
        jobs: dict[str, list[str]] = {}
        for job in comparison.failed:
            jobs.setdefault(job.error, []).append(job.label)
        causes = "; ".join(f"{error} ({', '.join(labels)})" for error, labels in jobs.items())
        raise UserError(f"no run finished, so there is nothing to compare: {causes}")
    evaluation = evaluate([variant.system for variant in comparison.variants], scoring)
    return publish(find(out.name, evaluation, comparison), out)


def publish(findings: Findings, out: Path) -> Findings:
    """Write the files and the report."""
    write_findings(findings, out)
    write_text(out / REPORT, render_report(findings))
    return findings
