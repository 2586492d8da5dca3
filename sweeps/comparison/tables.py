"""Tables with the origin of their numbers, and their forms in JSON, CSV and Markdown."""

import csv
import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tabulate import tabulate

from datamodules.files import as_cell
from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.numbers import NOTHING, shown_estimate, shown_number, shown_p, shown_size

Cell = str | int | float | Estimate | None
Kind = Literal["text", "count", "size", "number", "estimate", "p"]
"""``size`` is a number that readers see rounded, such as 1.23 M parameters."""


@dataclass(frozen=True)
class Column:
    """One column of a table: ``key`` is its name in files, ``title`` its name for readers."""

    key: str
    title: str
    kind: Kind = "text"
    decimals: int = 1
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What readers see in place of some texts; files keep the texts."""
    floor: float | None = None
    """The least p-value that the resamples can give, in a column of p-values."""

    def shown(self, cell: Cell) -> str:
        """Return a cell as one line of text for readers."""
        if cell is None:
            return NOTHING
        if isinstance(cell, Estimate):
            return shown_estimate(cell, self.decimals)
        if isinstance(cell, str):
            return _one_line(self.labels.get(cell, cell))
        if self.kind == "p":
            return shown_p(cell, self.floor)
        if self.kind == "size":
            return shown_size(cell)
        return shown_number(cell, self.decimals if isinstance(cell, float) else 0)

    @property
    def fields(self) -> list[str]:
        """Names of the column's fields in CSV."""
        parts = ("", "_low", "_high", "_deviation") if self.kind == "estimate" else ("",)
        return [f"{self.key}{part}" for part in parts]

    def values(self, cell: Cell) -> list[str | int | float | None]:
        """Return a cell's values for ``fields``."""
        if self.kind != "estimate":
            assert not isinstance(cell, Estimate)
            return [_one_line(cell) if isinstance(cell, str) else cell]
        if isinstance(cell, Estimate):
            return [cell.value, cell.low, cell.high, cell.deviation]
        return [cell if isinstance(cell, int | float) else None, None, None, None]


@dataclass(frozen=True)
class Table:
    """Rows and columns of cells, with the origin of their numbers."""

    name: str
    """Name of the table's files, without ending."""
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    origin: Mapping[str, str | int]
    """Settings that the numbers depend on: signature, seed and number of resamples, sentences, …"""
    note: str = ""
    """Explanation that a reader needs to understand the numbers."""

    def __post_init__(self) -> None:
        """Check that every row has a cell for every column."""
        for row in self.rows:
            assert len(row) == len(self.columns), (self.name, row)

    @property
    def shown(self) -> list[list[str]]:
        """All cells as text for readers."""
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    @property
    def titles(self) -> list[str]:
        """Titles of the columns."""
        return [column.title for column in self.columns]

    @property
    def caption(self) -> str:
        """Title and note in one line."""
        return _one_line(f"{self.title}. {self.note}".strip())

    @property
    def origin_text(self) -> str:
        """The origin in one line."""
        return _one_line("; ".join(f"{key} {value}" for key, value in self.origin.items()))


def _one_line(text: str) -> str:
    """Replace all line ends of Unicode in a text by spaces."""
    return " ".join(text.splitlines())


def as_csv(table: Table) -> str:
    """Return a table as CSV: numbers in full, texts in one line, the origin in every row.

    A text that a spreadsheet would take for a formula has a quote before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f for column in table.columns for f in column.fields), *table.origin])
    for row in table.rows:
        cells = zip(table.columns, row, strict=True)
        values = [value for column, cell in cells for value in column.values(cell)]
        writer.writerow(map(as_cell, [*values, *table.origin.values()]))
    return text.getvalue()


def as_json(table: Table) -> str:
    """Return a table as JSON; an estimate is an object with its interval, deviation and seeds."""
    rows = [
        {column.key: _plain(cell) for column, cell in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    content = {
        "name": table.name,
        "title": table.title,
        "note": table.note,
        "origin": dict(table.origin),
        "columns": {column.key: column.title for column in table.columns},
        "rows": rows,
    }
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _plain(cell: Cell) -> Any:
    if not isinstance(cell, Estimate):
        return cell
    return {
        "value": cell.value,
        "low": cell.low,
        "high": cell.high,
        "deviation": cell.deviation,
        "seeds": list(cell.seeds),
    }


def as_markdown(table: Table) -> str:
    """Return a Markdown pipe table under its caption."""
    rows = [[_escaped(cell) for cell in row] for row in table.shown]
    titles = [_escaped(title) for title in table.titles]
    body = tabulate(rows, titles, "github", colalign=_alignment(table), disable_numparse=True)
    caption, origin = (html.escape(t, quote=False) for t in (table.caption, table.origin_text))
    return f"{caption}\n\n{body}\n\n{origin}\n"


def _escaped(cell: str) -> str:
    """Escape a cell for Markdown: ``|`` would end the cell, ``<unk>`` would be an HTML tag."""
    return html.escape(cell, quote=False).replace("\\", "\\\\").replace("|", "\\|")


def _alignment(table: Table) -> list[str] | None:
    if not table.rows:
        return None
    return ["left" if column.kind == "text" else "right" for column in table.columns]
