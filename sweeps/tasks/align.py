"""``task=align`` with its page: how a trained run aligns given translations."""

from collections.abc import Iterator
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from lightning_modules.runs.job import command, given_overrides
from lightning_modules.runs.redaction import redacted
from lightning_modules.tasks import align as task
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.task_page import TaskPage, TaskPart, write_task_page
from sweeps.report.terminal import print_page


def align(config: DictConfig) -> None:
    """Task: write alignments, heat maps, statistics of the attention, and a page.

    Raises ``UserError`` for a run, text, gold or choice that cannot be used.
    """
    hydra = HydraConfig.get()
    found = task.align(config)
    page = align_page(found, command(*redacted(given_overrides(hydra))))
    print_page(write_task_page(page, Path(hydra.runtime.output_dir)), Console())


def align_page(found: task.FoundAlignment, given: str) -> TaskPage:
    """Return the page; ``given`` is the command."""
    summary = found.summary
    tables = [_measures(summary)]
    if isinstance(summary, task.GoldSummary) and summary.layers * summary.heads > 1:
        tables.append(_by_head(summary))
    aligned, *_ = task.summary_lines(summary)
    return TaskPage(
        title=f"{found.label}: word alignments of its attention",
        answer=f"{aligned.partition('; search')[0]}.",
        facts={"Search": summary.search, "Command": given},
        parts=[
            TaskPart(
                "maps",
                "Where it looks",
                figures=list(found.maps),
                note="Outlined: gold links, where they are known.",
            ),
            TaskPart("measures", "Measures", tables=tables),
        ],
        figures=found.maps,
    )


def _measures(summary: task.AlignmentSummary) -> Table:
    columns = [Column("measure", "measure"), Column("value", "value", "number", 3)]
    rows = [[name, value] for name, value in _values(summary)]
    origin = {"pairs aligned": summary.aligned}
    return Table("alignment", "Of the chosen head", columns, rows, origin)


def _values(summary: task.AlignmentSummary) -> Iterator[tuple[str, float | None]]:
    yield "entropy (nats)", summary.entropy
    yield "distance from the diagonal", summary.distance
    yield "coverage", summary.coverage
    if isinstance(summary, task.GoldSummary):
        yield "precision", summary.precision
        yield "recall", summary.recall
        for step, error in summary.aer_by_step.items():
            yield f"alignment error rate, when a word is {step}", error


def _by_head(summary: task.GoldSummary) -> Table:
    """Return the alignment error rates of all layers and heads."""
    heads = list(summary.aer_by_layer[task.MEAN])
    columns = [
        Column("layer", "layer"),
        *(Column(f"head_{head}", f"head {head}", "number", 3, best=-1) for head in heads),
    ]
    rows: list[list[Cell]] = [
        [layer, *(errors[head] for head in heads)] for layer, errors in summary.aer_by_layer.items()
    ]
    origin = {"sure links": summary.sure}
    title = "Alignment error rate of each head"
    return Table("alignment_error_rates", title, columns, rows, origin)
