"""The page of a task that is no comparison: of a corpus, of contrastive pairs, of alignments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from datamodules.files import write_text
from lightning_modules.figures.charts import Chart
from lightning_modules.runs.paths import REPORT
from sweeps.comparison.table_files import as_csv
from sweeps.comparison.tables import Table
from sweeps.report.html import render_page


class TaskPart(NamedTuple):
    """A part of the page, below one heading; a part without content is left out."""

    name: str  # id on the page
    heading: str
    lines: Sequence[str] = ()
    figures: Sequence[str] = ()  # names in `TaskPage.figures`
    tables: Sequence[Table] = ()
    texts: Sequence[Mapping[str, str]] = ()
    """Lines that belong together, such as a sentence and its translation, by their terms."""
    note: str = ""

    @property
    def has_content(self) -> bool:
        """Whether there is anything to show."""
        return any((self.lines, self.figures, self.tables, self.texts))

    @property
    def link(self) -> tuple[str, str]:
        """The id of the part and its heading."""
        return self.name, self.heading


class TaskPage(NamedTuple):
    """What a page shows of a task."""

    title: str
    answer: str  # what was found, in a sentence
    facts: Mapping[str, str]
    parts: Sequence[TaskPart]
    figures: Mapping[str, Chart]
    warnings: Sequence[str] = ()


def write_task_page(page: TaskPage, out: Path) -> Path:
    """Write ``report.html`` into ``out``, whole or not at all; return its path."""
    parts = [
        each for each in page.parts if any((each.lines, each.figures, each.tables, each.texts))
    ]
    files = {table.name: as_csv(table) for part in parts for table in part.tables}
    text = render_page("task.html.j2", page.figures, files, page=page, parts=parts)
    write_text(out / REPORT, text)
    return out / REPORT
