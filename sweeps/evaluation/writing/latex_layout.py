"""Widths of the columns of a LaTeX table, so that it fits the column or the page of a paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sweeps.evaluation.writing.latex_text import longest_part, width

GAP = 3.0
"""Points on either side of a column."""


class Layout(NamedTuple):
    """A width and a size of type for a table."""

    environment: str
    line: float
    """Width in points of the narrowest line that the table must fit."""
    size: str
    em: float
    """Width of an em of this size in points."""
    width: str


LAYOUTS = [
    Layout("table", 229, "footnotesize", 8.5, r"\columnwidth"),
    Layout("table*", 345, "footnotesize", 8.5, r"\textwidth"),
    Layout("table*", 345, "scriptsize", 8.0, r"\textwidth"),
    Layout("table*", 345, "tiny", 6.8, r"\textwidth"),
]
"""A column, then the page, of LaTeX's article: both are narrower than those of conferences."""


@dataclass(frozen=True)
class LatexColumn:
    """A column's head, and the lines of each cell below the head."""

    head: str
    cells: Sequence[Sequence[str]]
    is_text: bool
    """Whether cells may be broken between words, and stand on the left."""

    @property
    def least(self) -> float:
        """Width in em in which no word and no number is broken."""
        part = longest_part if self.is_text else width
        parts = [part(line) for cell in self.cells for line in cell]
        return max([longest_part(self.head), *parts])

    @property
    def natural(self) -> float:
        """Width in em in which no cell is broken; a head may be, between its words."""
        return max([self.least, *(width(line) for cell in self.cells for line in cell)])


@dataclass(frozen=True)
class Fit:
    """A layout with the width of each column."""

    layout: Layout
    columns: Sequence[LatexColumn]
    ems: Sequence[float]
    fills: bool
    """Whether the columns fill the line, which may be wider than ``layout.line``."""

    @property
    def specification(self) -> str:
        """The columns as ``tabular`` and ``longtable`` take them."""
        shares = [each * self.layout.em + 2 * GAP for each in self.ems]
        widths = [f"{each:.2f}em" for each in self.ems]
        if self.fills:  # rounded down, so that the sum is no wider than the line
            parts = [math.floor(1e4 * share / sum(shares)) / 1e4 for share in shares]
            widths = [f"\\dimexpr {part:.4f}\\linewidth-2\\tabcolsep\\relax" for part in parts]
        sides = ["right" if column.is_text else "left" for column in self.columns]
        each = zip(sides, widths, strict=True)
        inner = "".join(f">{{\\ragged{side}\\arraybackslash}}p{{{wide}}}" for side, wide in each)
        return f"@{{}}{inner}@{{}}"

    @property
    def lines(self) -> int:
        """About how many lines the rows take."""
        heights = [
            [sum(max(1, math.ceil(width(line) / ems)) for line in cell) for cell in column.cells]
            for column, ems in zip(self.columns, self.ems, strict=True)
        ]
        return sum(map(max, zip(*heights, strict=True)))


def fit(forms: Sequence[Sequence[LatexColumn]]) -> Fit:
    """Find the first layout in which a form of the table has room, the best form first.

    If none has, the first form fills the page, its cells broken between words; and where the
    smallest type has no room for words and numbers, these are broken too.
    """
    for layout in LAYOUTS[:2]:
        for columns in forms:
            natural = [each.natural for each in columns]
            if sum(natural) * layout.em + _gaps(columns) <= layout.line:
                return Fit(layout, columns, natural, fills=False)
    columns = forms[0]
    least, natural = [each.least for each in columns], [each.natural for each in columns]
    roomy = (each for each in LAYOUTS[1:] if sum(least) * each.em + _gaps(columns) <= each.line)
    layout = next(roomy, LAYOUTS[-1])
    room = (layout.line - _gaps(columns)) / layout.em
    return Fit(layout, columns, _shared(room, least, natural), fills=True)


def _gaps(columns: Sequence[LatexColumn]) -> float:
    return 2 * GAP * (len(columns) - 1)


def _shared(room: float, least: Sequence[float], natural: Sequence[float]) -> list[float]:
    """Share ``room`` among columns: the least to each, the rest to those that want more."""
    rest = room - sum(least)
    if rest <= 0 or least == natural:
        return [each * room / sum(least) for each in least]
    # Square roots, so that one long text leaves room for the others.
    wanted = [math.sqrt(most - few) for few, most in zip(least, natural, strict=True)]
    return [few + rest * want / sum(wanted) for few, want in zip(least, wanted, strict=True)]
