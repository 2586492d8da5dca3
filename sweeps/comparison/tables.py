"""Tables with the origin of their numbers."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.numbers import (
    NOTHING,
    format_estimate,
    format_number,
    format_p,
    format_size,
    in_words,
)

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
    best: int = 0  # 1 where the highest value is the best, -1 where the lowest is; 0: neither

    def shown(self, cell: Cell) -> str:
        """Return a cell as one line of text for readers."""
        if cell is None:
            return NOTHING
        if isinstance(cell, Estimate):
            return format_estimate(cell, self.decimals)
        if isinstance(cell, str):
            return _one_line(self.labels.get(cell, cell))
        if self.kind == "p":
            return format_p(cell, self.floor)
        if self.kind == "size":
            return format_size(cell)
        return format_number(cell, self.decimals if isinstance(cell, float) else 0)

    def best_rows(self, cells: Sequence[Cell]) -> Iterator[int]:
        """Yield the numbers of the rows with the column's best value, if it has one."""
        values = [cell.value if isinstance(cell, Estimate) else cell for cell in cells]
        known = [value for value in values if isinstance(value, int | float)]
        if self.best and len(set(known)) > 1:
            best = max(known, key=lambda value: self.best * value)
            yield from (number for number, value in enumerate(values) if value == best)

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

    name: str  # name of the table's files, without ending
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    origin: Mapping[str, str | int]
    """Settings that the numbers depend on: signature, seed and number of resamples, sentences, …"""
    note: str = ""  # explanation that a reader needs to understand the numbers
    within: str = ""
    """Key of a column, such as ``lengths``: rows compete with those of the same value there alone.
    Empty: with all rows."""
    apart: Collection[str] = ()
    """First cells of rows that compete with none: translations without a model."""

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
    def by_column(self) -> Iterator[tuple[Column, list[Cell]]]:
        """Each column with its cells."""
        for place, column in enumerate(self.columns):
            yield column, [row[place] for row in self.rows]

    @property
    def best(self) -> list[set[int]]:
        """The numbers of the rows with the best value of each column, if it has one."""
        return self._best_of(n for n, row in enumerate(self.rows) if row[0] not in self.apart)

    def _best_of(self, competing: Iterable[int]) -> list[set[int]]:
        places = [place for place, each in enumerate(self.columns) if each.key == self.within]
        groups: dict[tuple[Cell, ...], list[int]] = {}
        for number in competing:
            key = tuple(self.rows[number][place] for place in places)
            groups.setdefault(key, []).append(number)
        return [
            {
                rows[place]
                for rows in groups.values()
                for place in column.best_rows([cells[number] for number in rows])
            }
            for column, cells in self.by_column
        ]

    @property
    def bold(self) -> str:
        """What bold letters mean; empty where no cell has them."""
        if not any(self.best):
            return ""
        every = self._best_of(range(len(self.rows)))
        ahead = {
            self.columns[0].shown(self.rows[number][0])
            for systems, best in zip(self.best, every, strict=True)
            for number in best - systems
        }
        if not ahead:
            return " Bold: the best system."
        named = in_words(sorted(ahead))
        return f" Bold: the best system; translations without a model ({named}) may be better."

    @property
    def titles(self) -> list[str]:
        """Titles of the columns."""
        return [column.title for column in self.columns]

    @property
    def fields(self) -> list[str]:
        """Names of the fields in CSV; an estimate has several."""
        return [field for column in self.columns for field in column.fields]

    @property
    def values(self) -> list[list[str | int | float | None]]:
        """The values of each row for ``fields``."""
        return [
            [v for pair in zip(self.columns, row, strict=True) for v in pair[0].values(pair[1])]
            for row in self.rows
        ]

    @property
    def caption(self) -> str:
        """Title and note in one line."""
        return _one_line(f"{self.title}. {self.note}".strip())

    @property
    def origin_text(self) -> str:
        """The origin in one line."""
        return _in_one_line(self.origin.items())

    @property
    def page_origin(self) -> str:
        """The origin in one line, without what the page says once, under its method."""
        return _in_one_line(pair for pair in self.origin.items() if pair[0] not in SAID_ONCE)


SAID_ONCE = ("signature", "resamples", "resampling seed")
"""Parts of an origin that the method of a page has."""


def _in_one_line(origin: Iterable[tuple[str, str | int]]) -> str:
    return _one_line("; ".join(f"{key} {value}" for key, value in origin))


def _one_line(text: str) -> str:
    """Replace all line ends of Unicode in a text by spaces."""
    return " ".join(text.splitlines())
