"""Print findings in the terminal."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from sweeps.evaluation.score_tables import seeds
from sweeps.evaluation.tables import NOTHING, shown_estimate
from sweeps.evaluation.tables import Table as Measures
from sweeps.report.contents import Findings

SPEEDS = 5
"""Number of columns that are printed of the table of speeds."""


def print_findings(findings: Findings, report: Path, console: Console) -> None:
    """Print scores, differences, speeds, conditions, failed jobs and the path of the report."""
    console.print(_score_table(findings))
    console.print()
    for line in findings.conclusions:
        console.print(line, markup=False)
    console.print()
    comparison = findings.comparison
    if "speed" in findings.tables:
        console.print(_speed_table(findings.tables["speed"]))
        console.print()
    for condition in comparison.conditions:
        mark, style = ("✓ held", "green") if condition.holds else ("✗ NOT HELD", "bold red")
        console.print(Text.assemble((mark, style), f" {condition.name}: {condition.text}"))
    for job in comparison.failed:
        failed = ("✗ failed job", "bold red")
        console.print(Text.assemble(failed, f" {job.label} ({job.folder}): {job.error}"))
    console.print(f"open {report} in a browser", markup=False, soft_wrap=True)


def _score_table(findings: Findings) -> Table:
    evaluation = findings.evaluation
    bounds = evaluation.bounds
    aligned = "aer" in {metric.name for metric in evaluation.metrics}
    title = f"BLEU, whole test set [95%] and by {evaluation.scoring.length_axis}"
    table = _table(title, "system", "seed", "BLEU")
    for each in bounds:
        thin = "*" if min(evaluation.sentences(each)) < THIN else ""
        table.add_column(each.label + thin, justify="right", no_wrap=True)
    if aligned:
        table.add_column("AER %", justify="right")

    def cell(system: System, metric: str, index: int | None) -> str:
        estimate = evaluation.estimate(system, None if index is None else bounds[index], metric)
        # Means alone: with intervals the row would not fit 80 columns.
        return NOTHING if estimate is None else f"{estimate.value:.1f}"

    for system in evaluation.systems:
        whole = evaluation.estimate(system, None, "bleu")
        table.add_row(
            Text(system.name),
            seeds(system),
            _whole(whole),
            *(cell(system, "bleu", index) for index in range(len(bounds))),
            *([cell(system, "aer", None)] if aligned else []),
        )
    return table


def _whole(estimate: Estimate | None) -> str:
    return NOTHING if estimate is None else shown_estimate(estimate, 1)


def _speed_table(speed: Measures) -> Table:
    """Return the first measures only: all measures would not fit 80 columns."""
    first, *others = speed.titles[:SPEEDS]
    table = _table(speed.title, first, *others)
    for label, *values in speed.shown:
        table.add_row(Text(label), *values[: SPEEDS - 1])
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", padding=(0, 1, 0, 0), box=None)
    table.add_column(first, overflow="fold", min_width=11)
    for name in others:
        table.add_column(name, justify="right")
    return table
