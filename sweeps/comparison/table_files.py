"""Any text as LaTeX that a stock pdflatex sets, and how wide the text is about to be."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from datamodules.files import write_text
from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.numbers import NOTHING, shown_estimate, shown_interval
from sweeps.comparison.tables import Cell, Column, Table, as_csv, as_json, as_markdown

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
"""Places where a long word may go on in the next line: in no number, before each foreign letter."""

WIDTHS = {
    0.29: "il.,:;'|![]", 0.4: "jtfr()-s ", 0.52: "0123456789aceozvxy/*?+=<>",
    0.84: "mw%&\u2212±ACDGHKNOQRUVX", 1.03: "MW@×→≤≥≈—…",
}  # fmt: skip
"""Upper bounds of the widths of characters in Computer Modern, in em."""
EMS = {character: ems for ems, characters in WIDTHS.items() for character in characters}


def latex_text(text: str) -> str:
    """Escape a text. A character that pdflatex's fonts lack becomes ``U+4E2D``."""
    parts = BREAK.split(unicodedata.normalize("NFC", text))
    return r"\allowbreak{}".join("".join(map(_escaped, part)) for part in parts)


def _escaped(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    return character if " " <= character <= "~" else _accented(character)


def _accented(character: str) -> str:
    """Write a letter with its accents; a letter or an accent that LaTeX lacks by its number."""
    base, *marks = tuple(unicodedata.normalize("NFD", character))
    if not (base.isascii() and base.isalpha() and all(mark in ACCENTS for mark in marks) and marks):
        return f"U+{ord(character):04X}"
    written = {"i": r"\i", "j": r"\j"}.get(base, base)
    for mark in marks:
        written = f"\\{ACCENTS[mark]}{{{written}}}"
    return written


def width(text: str) -> float:
    """Return a width in em that the text surely fits."""
    return sum(map(_ems, unicodedata.normalize("NFC", text)))


def longest_part(text: str) -> float:
    """Return the width in em of the longest part that no line end may divide."""
    parts = [part for word in text.split() for part in BREAK.split(word)]
    return max(map(width, parts), default=0.0)


def _ems(character: str) -> float:
    if not (character in SPECIAL or character.isascii() or _accented(character).startswith("\\")):
        return 4.6  # U+4E2D
    return EMS.get(character, 0.75 if character.isupper() else 0.56)


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


SEEDS = ("seed", "seeds")
"""Columns that are empty for baselines."""
LONG = 45
"""Lines from which a table goes over several pages."""
PACKAGES = r"""% Needs \usepackage{array,booktabs,longtable}, which TeX Live has (Debian:
% texlive-latex-recommended)."""
FLOAT = r"""% Fits {width}.
\begin{{{environment}}}
\centering\{size}\setlength{{\tabcolsep}}{{{gap}pt}}
\caption{{{caption}}}
\label{{tab:{name}}}
\begin{{tabular}}{{{specification}}}
\toprule
{head}
\midrule
{rows}\bottomrule
\end{{tabular}}

\raggedright {origin}
\end{{{environment}}}
"""
LONGTABLE = r"""% Fits \textwidth and goes over several pages; with two columns: \onecolumn before.
\begingroup\{size}\setlength{{\tabcolsep}}{{{gap}pt}}\setlength{{\LTcapwidth}}{{\linewidth}}
\begin{{longtable}}{{{specification}}}
\caption{{{caption}}}\label{{tab:{name}}}\\
\toprule
{head}
\midrule
\endfirsthead
\toprule
{head}
\midrule
\endhead
\bottomrule
\endfoot
{rows}\end{{longtable}}
\noindent\raggedright {origin}\par\endgroup
"""


def as_latex(table: Table) -> str:
    """Return a LaTeX table with ``booktabs``, its origin in small type below the rows.

    Columns with one value in all rows are named in the caption instead, an interval stands below
    its value, a table of many lines is a ``longtable``, and a table that is narrower with rows for
    columns is turned.
    """
    same, forms = _forms(table)
    fitted = fit(forms)
    note = f" The same in every row: {same}." if same else ""
    rows = zip(*(column.cells for column in fitted.columns), strict=True)
    template = LONGTABLE if fitted.lines > LONG else FLOAT
    body = template.format(
        **fitted.layout._asdict(),
        name=table.name,
        gap=GAP,
        caption=latex_text(table.caption + note),
        specification=fitted.specification,
        head=_row([column.head] for column in fitted.columns),
        rows="".join(f"{_row(cells)}\n" for cells in rows),
        origin=latex_text(table.origin_text),
    )
    return f"{PACKAGES}\n{body}"


def _forms(table: Table) -> tuple[str, list[list[LatexColumn]]]:
    """Return what is the same in every row, and the other columns as they are and turned."""
    texts = [list(map(_lines_of, table.columns, row)) for row in table.rows]
    first, *others = range(len(table.columns))
    values = {p: {tuple(row[p]) for row in texts} for p in others}
    for p in others:
        if table.columns[p].key in SEEDS:  # a baseline has none
            values[p] -= {(NOTHING,)}
    constant = [p for p in others if len(texts) > 1 and len(values[p]) == 1]
    same = "; ".join(f"{table.titles[p]} {' '.join(*values[p])}" for p in constant)
    kept = [place for place in others if place not in constant]
    upright = [
        LatexColumn(table.titles[p], [row[p] for row in texts], table.columns[p].kind == "text")
        for p in (first, *kept)
    ]
    titles = LatexColumn(table.titles[first], [[table.titles[p]] for p in kept], is_text=True)
    turned = [LatexColumn(" ".join(row[first]), [row[p] for p in kept], False) for row in texts]
    return same, [upright, [titles, *turned]] if kept and texts else [upright]


def _lines_of(column: Column, cell: Cell) -> list[str]:
    """Return a cell's lines: the value with its deviation, and below them the interval."""
    if not isinstance(cell, Estimate):
        return [column.shown(cell)]
    interval = shown_interval(cell, column.decimals)
    value = shown_estimate(Estimate(cell.value, deviation=cell.deviation), column.decimals)
    return [value] if interval is None else [value, interval]


def _row(cells: Iterable[Sequence[str]]) -> str:
    return " & ".join(r"\newline ".join(map(latex_text, cell)) for cell in cells) + r" \\"


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "json": as_json,
    "csv": as_csv,
    "tex": as_latex,
    "md": as_markdown,
}


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write every table in every format; each file is written whole or not at all."""
    for table in tables:
        for ending, text in FORMATS.items():
            write_text(folder / f"{table.name}.{ending}", text(table))
