"""Print a report in the terminal."""

from pathlib import Path

from rich.console import Console
from rich.table import Table as Printed
from rich.text import Text

from sweeps.comparison.tables import Table
from sweeps.report.report import Report


def rich_table(table: Table, columns: int | None = None) -> Printed:
    """Return a table to print, its first ``columns`` only where the others would not fit."""
    first, *others = table.titles[:columns]
    printed = empty_table(table.title, first, *others)
    for each, column in zip(printed.columns, table.columns, strict=False):
        each.justify = "left" if column.kind == "text" else "right"
    for label, *values in table.shown:
        printed.add_row(Text(label), *map(Text, values[: len(others)]))
    return printed


def rich_table_of_columns(table: Table, names: int) -> Printed:
    """Return a table to print with a line for each column, where its rows would not fit.

    The first ``names`` columns name the rows of ``table``, which become columns.
    """
    rows = table.shown
    printed = empty_table(table.title, "", *("\n".join(row[:names]) for row in rows))
    for place, title in enumerate(table.titles[names:], start=names):
        printed.add_row(Text(title), *(Text(row[place]) for row in rows))
    return printed


def empty_table(title: str, first: str, *others: str) -> Printed:
    """Return a table without rows, its first column for names."""
    printed = Printed(
        title=title, title_justify="left", padding=(0, 1, 0, 0), box=None, pad_edge=False
    )
    printed.add_column(first, overflow="fold", min_width=11)
    for name in others:
        printed.add_column(name, justify="right")
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
    console.print(f"open {page} in a browser", markup=False, highlight=False, soft_wrap=True)
