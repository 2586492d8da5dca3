"""Print a report in the terminal."""

from pathlib import Path

from rich.console import Console

from sweeps.report.report import Report


def print_report(report: Report, page: Path, console: Console) -> None:
    """Print what each section has for the terminal, and the path of the ``page``."""
    for part in report.parts:
        printed = part.printed()
        for each in printed:
            # A line of text is printed as it is, without Rich's markup.
            console.print(each, markup=not isinstance(each, str))
        if printed:
            console.print()
    console.print(f"open {page} in a browser", markup=False, soft_wrap=True)
