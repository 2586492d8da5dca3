"""A comparison in the terminal."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweeps import wording
from sweeps.comparison import Comparison, Variant


def print_comparison(comparison: Comparison, report: Path, console: Console) -> None:
    """Print scores, speeds, conditions, failed jobs and where the report lies."""
    console.print(_score_table(comparison))
    console.print()
    console.print(_speed_table(comparison))
    console.print()
    for condition in comparison.conditions:
        mark, style = ("✓ held", "green") if condition.holds else ("✗ NOT HELD", "bold red")
        console.print(Text.assemble((mark, style), f" {condition.name}: {condition.text}"))
    for job in comparison.failed:
        failed = ("✗ failed job", "bold red")
        console.print(Text.assemble(failed, f" {job.label} ({job.folder}): {job.error}"))
    console.print(f"open {report} in a browser", markup=False, soft_wrap=True)


def _score_table(comparison: Comparison) -> Table:
    unit = comparison.runs[0].result.length_unit
    table = _table(f"BLEU, whole test set and by length ({unit})", "variant", "seed", "BLEU")
    for bucket in comparison.buckets:
        table.add_column(bucket.label, justify="right", no_wrap=True)
    if comparison.aligned:
        table.add_column("AER %", justify="right")
    for variant in comparison.variants:
        scores = variant.bleu_by_bounds
        means = [scores.get(bucket.bounds) for bucket in comparison.buckets]
        table.add_row(
            Text(variant.label),
            wording.seeds(variant),
            wording.score(variant.bleu),
            # Means alone: with deviations the row would not fit 80 columns.
            *(wording.mean([spread.mean if spread else None], 1) for spread in means),
            *([wording.score(variant.aer)] if comparison.aligned else []),
        )
    return table


def _speed_table(comparison: Comparison) -> Table:
    columns = ("parameters", "target tokens", "tokens/s", "training seconds")
    table = _table("Size and speed", "variant", *columns)
    for variant in comparison.variants:
        table.add_row(Text(variant.label), *_speeds(variant))
    return table


def _speeds(variant: Variant) -> tuple[str, str, str, str]:
    results = [run.result for run in variant.runs]
    return (
        wording.mean([result.parameters for result in results]),
        wording.mean([result.training.target_tokens for result in results]),
        wording.mean([result.training.target_tokens_per_second for result in results]),
        wording.mean([result.training.seconds for result in results], 1),
    )


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", padding=(0, 1, 0, 0), box=None)
    table.add_column(first, overflow="fold", min_width=11)
    for name in others:
        table.add_column(name, justify="right")
    return table
