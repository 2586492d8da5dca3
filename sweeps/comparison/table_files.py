"""Files of tables: JSON, CSV, Markdown and LaTeX."""

import csv
import html
import io
import json
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from datamodules.files import as_cell, write_text
from lightning_modules.figures.latex import latex_text
from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.tables import Cell, Column, Table

MOST_ROWS = 45
"""Rows that a page of a paper has room for, in LaTeX and Markdown; JSON and CSV have all."""
LONGEST_TEXT = 80  # characters of a text in a LaTeX table; the other files have all
WIDE = 6  # columns from which a LaTeX table is as wide as the page
NARROWEST = 8  # characters of a line of a title in LaTeX, where the cells are narrower
MOST_LINES = 3  # of a title in LaTeX
SPACE = r"\addlinespace[2pt] "  # between rows of two lines
SMALL = 0.7  # width of what stands beneath a number, in small type
LATEX = r"""% Needs \usepackage{{booktabs,graphicx}}.
\begin{{{environment}}}
\centering
\caption{{{caption}}}
\label{{tab:{name}}}
\smallskip
\small
\setlength{{\tabcolsep}}{{4pt}}
\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
{tabular}}}

\smallskip
\raggedright\footnotesize {origin}
\end{{{environment}}}
"""


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write every table in every format; each file is written whole or not at all."""
    for table in tables:
        for ending, text in FORMATS.items():
            write_text(folder / f"{table.name}.{ending}", text(table))


def as_csv(table: Table) -> str:
    """Return a table as CSV: numbers in full, texts in one line, the origin in every row.

    A text that a spreadsheet would take for a formula has a quote before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*table.fields, *table.origin])
    for values in table.values:
        writer.writerow(map(as_cell, [*values, *table.origin.values()]))
    return text.getvalue()


def as_json(table: Table) -> str:
    """Return a table as JSON; an estimate is an object with its interval, deviation and seeds."""
    rows = [
        {
            column.key: vars(cell) if isinstance(cell, Estimate) else cell
            for column, cell in zip(table.columns, row, strict=True)
        }
        for row in table.rows
    ]
    content = {
        "name": table.name,
        "title": table.title,
        "note": table.note,
        "origin": dict(table.origin),
        "columns": {column.key: column.title for column in table.columns},
    }
    # With an indent, Python's encoder of its own takes ten times as long.
    lines = ",\n".join(f"  {_json(row)}" for row in rows)
    return f'{_json(content)[:-1]}, "rows": [\n{lines}\n]}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def as_markdown(table: Table) -> str:
    """Return a Markdown pipe table under its caption."""
    rows = [[_escape(cell) for cell in row] for row in _first_rows(table).shown]
    body = _tabulate(table, rows, [_escape(title) for title in table.titles], "github")
    caption, origin = (
        html.escape(t, quote=False) for t in (table.caption + _cut(table), table.origin_text)
    )
    return f"{caption}\n\n{body}\n\n{origin}\n"


def _first_rows(table: Table) -> Table:
    return replace(table, rows=table.rows[:MOST_ROWS])


def _cut(table: Table) -> str:
    """Return a sentence that says which rows a table for readers has, if it lacks some."""
    count = len(table.rows)
    return f" The first {MOST_ROWS} of {count} rows." if count > MOST_ROWS else ""


def _escape(cell: str) -> str:
    """Escape a cell for Markdown: ``|`` would end the cell, ``<unk>`` would be an HTML tag."""
    return html.escape(cell, quote=False).replace("\\", "\\\\").replace("|", "\\|")


def _tabulate(table: Table, rows: Sequence[Sequence[str]], titles: Sequence[str], form: str) -> str:
    sides = ["left" if column.kind == "text" else "right" for column in table.columns]
    return tabulate(
        rows or [[""] * len(titles)], titles, form, colalign=sides, disable_numparse=True
    )


def as_latex(table: Table) -> str:
    """Return a LaTeX table with ``booktabs``, which shrinks to the width of its column or page.

    Numbers stand on the right with their intervals beneath; the best value of a column is bold.
    """
    cut = _first_rows(table)
    columns = [
        _latex_column(column, cells, best)
        for (column, cells), best in zip(table.by_column, table.best, strict=True)
    ]
    rows: list[list[str]] = []
    for number, cells in enumerate(zip(*(each[: len(cut.rows)] for each in columns), strict=True)):
        first, *beneath = _latex_lines(cells)
        apart = [table.rows[place][0] in table.apart for place in (max(0, number - 1), number)]
        gap = r"\midrule " if apart == [False, True] else SPACE if rows and beneath else ""
        rows += [[f"{gap}{first[0]}", *first[1:]], *beneath]
    titles = [
        _latex_title(column, cells) for column, cells in zip(table.columns, columns, strict=True)
    ]
    tabular = _tabulate(table, rows, titles, "latex_raw")
    for rule in ("top", "mid", "bottom"):
        tabular = tabular.replace(r"\hline", rf"\{rule}rule", 1)
    return LATEX.format(
        environment="table*" if len(table.columns) > WIDE else "table",
        caption=latex_text(table.caption + table.bold + _cut(table)),
        name=table.name,
        tabular=tabular,
        origin=latex_text(table.origin_text),
    )


class _LatexCell(NamedTuple):
    """A cell for readers of LaTeX, not yet escaped."""

    value: str
    beneath: str  # interval and deviation of an estimate
    best: bool


def _latex_column(column: Column, cells: Sequence[Cell], best: Collection[int]) -> list[_LatexCell]:
    made = []
    for number, cell in enumerate(cells):
        shown, beneath = column.shown(cell), ""
        if isinstance(cell, Estimate):
            shown, _, beneath = shown.partition(" ")
        made.append(_LatexCell(_shortened(shown), beneath, number in best))
    return made


def _latex_lines(cells: Sequence[_LatexCell]) -> Iterator[list[str]]:
    """Yield the lines of a row: the values, then what stands beneath any of them."""
    values = [latex_text(cell.value) for cell in cells]
    yield [
        rf"\textbf{{{value}}}" if cell.best else value
        for cell, value in zip(cells, values, strict=True)
    ]
    if any(cell.beneath for cell in cells):
        yield [rf"\scriptsize {latex_text(c.beneath)}" if c.beneath else "" for c in cells]


def _latex_title(column: Column, cells: Sequence[_LatexCell]) -> str:
    """Return a title in a few lines that are, if they can, about as wide as the cells below."""
    widths = [max(len(cell.value), SMALL * len(cell.beneath)) for cell in cells]
    width = max(NARROWEST, int(max(widths, default=0)))
    while len(lines := _wrapped(column.title, width)) > MOST_LINES:
        width += 1
    if len(lines) < 2:
        return latex_text(column.title)
    side = "l" if column.kind == "text" else "r"
    return rf"\shortstack[{side}]{{" + r"\\".join(map(latex_text, lines)) + "}"


def _wrapped(title: str, width: int) -> list[str]:
    return textwrap.wrap(title, width, break_long_words=False, break_on_hyphens=False)


def _shortened(text: str) -> str:
    return textwrap.shorten(text, LONGEST_TEXT, placeholder=" …")


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "json": as_json,
    "csv": as_csv,
    "tex": as_latex,
    "md": as_markdown,
}
