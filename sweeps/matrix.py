"""Tests of every pair of systems as matrices, one for each range of lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightning_modules.metrics.scopes import Estimate
from sweeps.evaluation.significance_tables import SIGNIFICANT
from sweeps.evaluation.tables import Table, shown_p

SYMBOLS = {"better": "▲", "worse": "▼", "alike": "≈"}


@dataclass(frozen=True)
class MatrixCell:
    """The row's system less the column's."""

    verdict: str
    """A key of ``SYMBOLS``; alike is what no test tells apart."""
    difference: str
    p: str

    @property
    def symbol(self) -> str:
        """The verdict for those who see no colours."""
        return SYMBOLS[self.verdict]


@dataclass(frozen=True)
class Matrix:
    """All pairs on the test sentences of some lengths."""

    lengths: str
    sentences: str
    rows: list[tuple[str, list[MatrixCell | None]]]
    """Each system's name with a cell for every system; None: not tested."""


def significance_matrices(table: Table, systems: Sequence[str]) -> list[Matrix]:
    """What ``table``, of differences and p-values, says of ``systems``; the whole test set first.

    Paired bootstrap, p after Holm's correction over all of the table.
    """
    keys = [column.key for column in table.columns]
    tests = [dict(zip(keys, row, strict=True)) for row in table.rows]
    decimals = next(column.decimals for column in table.columns if column.key == "difference")
    cells: dict[str, dict[tuple[str, str], MatrixCell]] = {}
    sentences: dict[str, set[str]] = {}
    for test in tests:
        first, second, lengths = (str(test[key]) for key in ("first", "second", "lengths"))
        difference, p = test["difference"], test["p_bootstrap_holm"]
        assert isinstance(difference, Estimate)
        assert isinstance(p, float)
        found = cells.setdefault(lengths, {})
        found[first, second] = _cell(difference.value, p, decimals)
        found[second, first] = _cell(-difference.value, p, decimals)
        sentences.setdefault(lengths, set()).add(str(test["sentences"]))
    return [
        Matrix(
            lengths,
            "/".join(sorted(sentences[lengths])),
            [(row, [found.get((row, column)) for column in systems]) for row in systems],
        )
        for lengths, found in cells.items()
    ]


def _cell(difference: float, p: float, decimals: int) -> MatrixCell:
    verdict = "alike" if p >= SIGNIFICANT else "better" if difference > 0 else "worse"
    return MatrixCell(verdict, f"{difference:+.{decimals}f}", shown_p(p))
