"""Print a report in the terminal."""

from pathlib import Path

from rich.console import Console

from sweeps.report.report import Report


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
