"""Tables in LaTeX: a stock pdflatex sets them, and they fit the column or the page of a paper."""

from collections.abc import Iterable, Sequence

from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from sweeps.evaluation.numbers import NOTHING, shown_estimate, shown_interval
from sweeps.evaluation.tables import Cell, Column, Table
from sweeps.evaluation.writing.latex_layout import GAP, LatexColumn, fit
from sweeps.evaluation.writing.latex_text import latex_text

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
