"""``task=contrast`` with its page: does a trained run prefer right translations to wrong ones?"""

from collections.abc import Iterator
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from lightning_modules.figures.lines import draw_lines
from lightning_modules.runs.job import command, given_overrides, run_label
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Accuracies, Accuracy
from lightning_modules.tasks import contrast as task
from sweeps.comparison.tables import Column, Table
from sweeps.report.task_page import TaskPage, TaskPart, write_task_page
from sweeps.report.terminal import print_page

COLUMNS = [
    Column("group", "group"),
    Column("right", "right choices (%)", "number"),
    Column("low", "95% from", "number"),
    Column("high", "to", "number"),
    Column("pairs", "pairs", "count"),
]
TITLES = {
    "category": "By error",
    "distance": "By distance",
    "distances": "By distances",
    "attractor": "By attractor",
}
"""Titles of the tables, by the kind of their groups."""


def contrast(config: DictConfig) -> None:
    """Task: score both translations of each pair, and write accuracies and a page.

    Raises ``UserError`` for a run or a set of pairs that cannot be used.
    """
    hydra = HydraConfig.get()
    found = task.contrast(config)
    page = contrast_page(found, command(*redacted(given_overrides(hydra))))
    print_page(write_task_page(page, Path(hydra.runtime.output_dir)), Console())


def contrast_page(found: task.FoundContrast, given: str) -> TaskPage:
    """Return the page; ``given`` is the command."""
    summary, lines = found.summary, found.lines
    answer, *_ = task.summary_lines(summary)
    drawn = {} if lines is None else {task.CHART: draw_lines(lines, "container")}
    return TaskPage(
        title=f"{run_label(found.label, summary.seed)}: right translations against wrong ones",
        answer=f"{answer.partition(';')[0]}.",
        facts={"Pairs": summary.set, "Search": summary.search, "Command": given},
        parts=[
            TaskPart(
                "distance",
                "Agreement against distance",
                figures=list(drawn),
                note="Words between the two that belong together. Dashed line: chance.",
            ),
            TaskPart("groups", "Right choices", tables=list(_tables(summary.accuracy))),
        ],
        figures=drawn,
    )


def _tables(accuracy: Accuracies) -> Iterator[Table]:
    note = "Intervals: bootstrap over source sentences."
    for kind, groups in accuracy.items():
        if kind != "all":
            rows = [[name, *_cells(each)] for name, each in groups.items()]
            title = TITLES.get(kind, f"By {kind}")
            yield Table(f"right_by_{kind}", title, COLUMNS, rows, {"groups": len(rows)}, note)


def _cells(accuracy: Accuracy) -> list[float | int | None]:
    return [accuracy.value, accuracy.low, accuracy.high, accuracy.pairs]
