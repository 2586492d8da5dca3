"""Texts in CSV files that a spreadsheet opens: no text may be run as a formula."""

from typing import TypeVar

QUOTE = "'"
"""Spreadsheets show a cell that begins with this character as text."""
STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", QUOTE)
Value = TypeVar("Value")


def as_cell(value: Value) -> Value | str:
    """Return a value for a cell of CSV; a text that could be a formula gets a quote before it."""
    if isinstance(value, str) and value.startswith(STARTS_FORMULA):
        return QUOTE + value
    return value


def from_cell(cell: str) -> str:
    """Return the text of a cell that ``as_cell`` made."""
    return cell.removeprefix(QUOTE)
