"""Files that hold both sides in columns: TSV and JSON lines, plain or compressed."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator
from typing_extensions import override

from datamodules.errors import UserError
from datamodules.lines import COMPRESSED, read_blocks
from datamodules.pair_sources import Block, PairSource

Column = Annotated[int, Field(ge=0)] | str  # name, with dots inside another, or number from 0
_LINE_FEED = re.compile(r"\r?\n")
TABLES = (".tsv", ".jsonl")  # suffixes of tables, which the suffix of a compression may follow


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

    Raises ``UserError`` for a cell that is not text, or text that UTF-8 cannot hold, with its
    ``side`` and number: the first cell is ``unit`` (such as *line*) ``first``.
    """
    texts = ["" if value is None else value for value in values]
    for index, text in enumerate(texts, first):
        if not isinstance(text, str):
            raise UserError(
                f"{side}, {unit} {index}: {_short(text)} is not text: set data.columns=..."
            )
    lines = [text for text in texts if isinstance(text, str)]
    together = "\n".join(lines)
    if "\0" in together or not _is_unicode(together):
        wrong = (n for n, line in enumerate(lines) if "\0" in line or not _is_unicode(line))
        index = next(wrong)
        what = "a NUL character" if "\0" in lines[index] else "half of a surrogate pair"
        raise UserError(f"{side}, {unit} {first + index}: {what}, which is not text: fix the file")
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


def table_kind(name: str) -> str | None:
    """Return the suffix of a table without that of the compression; None for another file."""
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return next((kind for kind in TABLES if name.endswith(kind)), None)


@dataclass
class TableFile(PairSource):
    """A TSV file, whose first line names the columns if ``columns`` has a name, or JSON lines.

    Cells of a TSV file are cut at tabs only: a quotation mark is text.
    """

    name: str
    file: Path
    columns: Columns

    def __post_init__(self) -> None:
        source, target = self._wanted()
        self.files = (self.file,)
        self.sides = f"{self.file}, column {source}", f"{self.file}, column {target}"
        self.identity = f"columns {source!r} {target!r}"
        self._is_json = table_kind(self.file.name) == ".jsonl"
        self._has_header = not self._is_json and any(isinstance(c, str) for c in self._wanted())
        self.first = 2 if self._has_header else 1

    @override
    def blocks(self) -> Iterator[Block]:
        read = self._json_cells if self._is_json else self._tsv_cells
        for first, cells in read():
            source, target = (
                clean_texts(side, place, self.unit, first)
                for side, place in zip(cells, self.sides, strict=True)
            )
            yield source, target

    def _wanted(self) -> tuple[Column, Column]:
        return self.columns.source, self.columns.target

    def _tsv_cells(self) -> Iterator[tuple[int, Sequence[Sequence[object]]]]:
        first, places = 1, self._wanted()
        for lines in read_blocks(self.file):
            rows = [line.split("\t") for line in lines]
            if first == 1 and self._has_header:
                header = rows.pop(0)
                places = self._number(header, places[0]), self._number(header, places[1])
                first = 2
            numbers = [int(place) for place in places]
            for line, row in enumerate(rows, first):
                if len(row) <= max(numbers):
                    raise UserError(
                        f"{self.file}, line {line}: {len(row)} columns, but {max(numbers) + 1} are "
                        "needed: fix the file, or set data.columns=..."
                    )
            yield first, [[row[number] for row in rows] for number in numbers]
            first += len(rows)

    def _number(self, header: list[str], column: Column) -> int:
        if isinstance(column, int):
            return column
        if column not in header:
            raise UserError(_no_column(str(self.file), column, header))
        return header.index(column)

    def _json_cells(self) -> Iterator[tuple[int, Sequence[Sequence[object]]]]:
        first = 1
        for lines in read_blocks(self.file):
            rows = [self._parsed(line, number) for number, line in enumerate(lines, first)]
            yield (
                first,
                [
                    [self._cell(row, number, column) for number, row in enumerate(rows, first)]
                    for column in map(str, self._wanted())
                ],
            )
            first += len(lines)

    def _parsed(self, line: str, number: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{self.file}, line {number}: not JSON ({error}): fix the file, or name it .tsv if "
                "its columns are cut by tabs"
            ) from None

    def _cell(self, row: Any, number: int, column: str) -> object:
        value = row
        for key in column.split("."):
            if not isinstance(value, dict) or key not in value:
                names = list(_names(row))
                raise UserError(_no_column(f"{self.file}, line {number}", column, names))
            value = value[key]
        return value


def _no_column(place: str, column: str, names: Sequence[str]) -> str:
    found = ", ".join(names) or "no columns"
    return f"{place}: no column {column}; it has {found}: set data.columns=..."


def _names(row: Any, parent: str = "") -> Iterator[str]:
    """Yield the dotted names of the values of a JSON object."""
    if not isinstance(row, dict):
        return
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _names(value, f"{parent}{key}.")
        else:
            yield f"{parent}{key}"
