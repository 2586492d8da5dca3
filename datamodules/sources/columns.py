"""Columns of a table that hold the two sides, and the text of their cells."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from datamodules.errors import UserError

Column = Annotated[int, Field(ge=0)] | str
"""Name of a column, with dots for what lies inside another, or its number, from 0."""
_LINE_FEED = re.compile(r"\r?\n")


class Columns(BaseModel, extra="forbid", frozen=True):
    """The columns of both sides."""

    source: Column
    target: Column

    @model_validator(mode="before")
    @classmethod
    def _check(cls, columns: object) -> object:
        if isinstance(columns, dict):
            if not {"source", "target"} <= columns.keys():
                raise ValueError("give both columns, {source: NAME, target: NAME}")
            if columns["source"] == columns["target"]:
                raise ValueError("both sides are one column; give two")
        return columns


def clean_texts(values: Sequence[object], side: str, unit: str, first: int) -> list[str]:
    """Return cells as lines of text: a missing value is an empty line, a line feed is a space.

    Args:
        values: the cells of a column.
        side: where the column stands, for messages.
        unit: what ``first`` counts, such as ``line``.
        first: number of the first cell.

    Raises:
        UserError: for a cell that is no text, or text that UTF-8 cannot hold.
    """
    texts = ["" if value is None else value for value in values]
    for index, text in enumerate(texts, first):
        if not isinstance(text, str):
            raise UserError(
                f"{side}, {unit} {index}: {_short(text)} is no text: set data.columns=..."
            )
    lines = [text for text in texts if isinstance(text, str)]
    together = "\n".join(lines)
    if "\0" in together or not _is_unicode(together):
        wrong = (n for n, line in enumerate(lines) if "\0" in line or not _is_unicode(line))
        index = next(wrong)
        what = "a NUL character" if "\0" in lines[index] else "half of a surrogate pair"
        raise UserError(f"{side}, {unit} {first + index}: {what}, which is no text: mend the file")
    if together.count("\n") >= len(lines):
        return [_LINE_FEED.sub(" ", line).strip() if "\n" in line else line for line in lines]
    return lines


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
