"""Print a report in the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Printed
from rich.text import Text

from sweeps.comparison.tables import Table
from sweeps.report.report import Report


def rich_table(table: Table, columns: int | None = None) -> Printed:
    """Return a table to print, its first ``columns`` only where the others would not fit."""
    titles = table.titles[:columns]
    printed = _printed(table.title, titles)
    for each, column in zip(printed.columns, table.columns, strict=False):
        each.justify = "left" if column.kind == "text" else "right"
    for row in table.shown:
        printed.add_row(*map(Text, row[: len(titles)]))
    return printed


def rich_table_of_columns(table: Table, names: int) -> Printed:
    """Return a table to print with a line for each column, where its rows would not fit.

    The first ``names`` columns name the rows of ``table``, which become columns.
    """
    rows = table.shown
    printed = _printed(table.title, ["", *("\n".join(row[:names]) for row in rows)])
    for place, title in enumerate(table.titles[names:], start=names):
        printed.add_row(Text(title), *(Text(row[place]) for row in rows))
    return printed


def _printed(title: str, columns: Sequence[str]) -> Printed:
    printed = Printed(
        title=title, title_justify="left", padding=(0, 1, 0, 0), box=None, pad_edge=False
    )
    for name in columns:
        printed.add_column(name, justify="right")
    printed.columns[0].overflow, printed.columns[0].min_width = "fold", 11
    printed.columns[0].justify = "left"
    return printed


def print_report(report: Report, console: Console) -> None:
    """Print what each section has for the terminal."""
    for part in report.parts:
        printed = part.printed()
        for each in printed:
            # A line of text is printed as it is, without Rich's markup.
            console.print(each, markup=not isinstance(each, str))
        if printed:
            console.print()


def print_page(page: Path, console: Console) -> None:
    """Print what to do next, on one line from which the path of the ``page`` can be copied."""
    print_line(f"open {page} in a browser", console)


def print_line(line: str, console: Console) -> None:
    """Print a line in which a name or a path may look like markup, as it is."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
