"""Files of tables: JSON, CSV, Markdown and LaTeX."""

import csv
import html
import io
import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabulate import tabulate

from datamodules.files import as_cell, write_text
from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.tables import Cell, Column, Table

MOST_ROWS = 45
"""Rows that a page of a paper has room for, in LaTeX and Markdown; JSON and CSV have all."""
LONGEST_TEXT = 80  # characters of a text in a LaTeX table; the other files have all
WIDE = 6  # columns from which a LaTeX table is as wide as the page
LATEX = r"""% Needs \usepackage{{booktabs,graphicx}}.
\begin{{{environment}}}
\centering
\caption{{{caption}}}
\label{{tab:{name}}}
\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
{tabular}}}

\raggedright\footnotesize {origin}
\end{{{environment}}}
"""
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedblright{}", "`": r"\`{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # \\ would take these as its options
    "\u2212": r"\ensuremath{-}", "±": r"\ensuremath{\pm}", "×": r"\ensuremath{\times}",
    "→": r"\ensuremath{\rightarrow}", "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}",
    "≈": r"\ensuremath{\approx}", "·": r"\ensuremath{\cdot}", "°": r"\ensuremath{^\circ}",
    "µ": r"\ensuremath{\mu}", "–": r"\textendash{}", "—": r"\textemdash{}",
    "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}",
    "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "…": r"\ldots{}",
    "§": r"\ensuremath{\mathsection}", "¿": r"\textquestiondown{}", "¡": r"\textexclamdown{}",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}",
    "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "†": r"\ensuremath{\dagger}", "▲": r"\ensuremath{\triangle}", "▼": r"\ensuremath{\nabla}",
    "\u00a0": "~", "\u202f": "~",
}  # fmt: skip
"""Characters that LaTeX would read as commands, or that its first font encoding lacks."""
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d",
    "\u0327": "c", "\u0331": "b",
}  # fmt: skip
"""LaTeX's commands for combining marks."""
BREAK = re.compile(r"(?<=[_.,:;=|/+)])(?=[^\d\s])|(?<=\S)(?=[\u0250-\u1dff\u2e80-\U0010ffff])")
"""Places where a line may end inside a word: in no number, before each foreign letter."""


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

    Numbers stand on the right, and the best value of a column is bold.
    """
    rows = [list(map(_latex_cell, row)) for row in _first_rows(table).shown]
    for place, column in enumerate(table.columns):
        for number in _best(column, [row[place] for row in table.rows]):
            if number < len(rows):
                rows[number][place] = rf"\textbf{{{rows[number][place]}}}"
    tabular = _tabulate(table, rows, list(map(latex_text, table.titles)), "latex_raw")
    for rule in ("top", "mid", "bottom"):
        tabular = tabular.replace(r"\hline", rf"\{rule}rule", 1)
    return LATEX.format(
        environment="table*" if len(table.columns) > WIDE else "table",
        caption=latex_text(table.caption + _cut(table)),
        name=table.name,
        tabular=tabular,
        origin=latex_text(table.origin_text),
    )


def _latex_cell(text: str) -> str:
    return latex_text(textwrap.shorten(text, LONGEST_TEXT, placeholder=" …"))


def _best(column: Column, cells: Sequence[Cell]) -> Iterator[int]:
    """Yield the numbers of the rows with a column's best value, if it has one."""
    values = [cell.value if isinstance(cell, Estimate) else cell for cell in cells]
    known = [value for value in values if isinstance(value, int | float)]
    if column.best and len(set(known)) > 1:
        best = max(known, key=lambda value: column.best * value)
        yield from (number for number, value in enumerate(values) if value == best)


def latex_text(text: str) -> str:
    """Escape a text. A character that pdflatex's fonts lack becomes ``U+4E2D``."""
    parts = BREAK.split(unicodedata.normalize("NFC", text))
    return r"\allowbreak{}".join("".join(map(_latex_character, part)) for part in parts)


def _latex_character(character: str) -> str:
    """Write a letter with its accents; a letter or an accent that LaTeX lacks by its number."""
    if character in SPECIAL:
        return SPECIAL[character]
    if " " <= character <= "~":
        return character
    base, *marks = tuple(unicodedata.normalize("NFD", character))
    if not (base.isascii() and base.isalpha() and all(mark in ACCENTS for mark in marks) and marks):
        return f"U+{ord(character):04X}"
    written = {"i": r"\i", "j": r"\j"}.get(base, base)
    for mark in marks:
        written = f"\\{ACCENTS[mark]}{{{written}}}"
    return written


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "json": as_json,
    "csv": as_csv,
    "tex": as_latex,
    "md": as_markdown,
}
