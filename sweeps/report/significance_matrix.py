"""Tests of every pair of systems as matrices, one for each range of lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from sweeps.evaluation.significance_tables import SIGNIFICANT
from sweeps.evaluation.tables import Table, shown_p

SYMBOLS = {"better": "▲", "worse": "▼", "alike": "≈"}


@dataclass(frozen=True)
class MatrixCell:
    """Difference of two systems: the row's score minus the column's score."""

    verdict: str
    """A key of ``SYMBOLS``; ``alike`` without a significant difference."""
    difference: str
    p: str

    @property
    def symbol(self) -> str:
        """The verdict as a symbol, for readers who see no colours."""
        return SYMBOLS[self.verdict]


@dataclass(frozen=True)
class Matrix:
    """Tests of all pairs of systems on the test sentences of one range of lengths."""

    lengths: str
    sentences: str
    rows: list[tuple[str, list[MatrixCell | None]]]
    """Each system's name with a cell for every system; None for an untested pair."""


def significance_matrices(table: Table, systems: Sequence[str]) -> list[Matrix]:
    """Arrange the differences and p-values of ``table`` by ``systems``; the whole test set first.

    The p-values are of the paired bootstrap, after Holm's correction over the whole table.
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
        pairs = cells.setdefault(lengths, {})
        pairs[first, second] = _cell(difference.value, p, decimals)
        pairs[second, first] = _cell(-difference.value, p, decimals)
        sentences.setdefault(lengths, set()).add(str(test["sentences"]))
    return [
        Matrix(
            lengths,
            "/".join(sorted(sentences[lengths])),
            [(row, [pairs.get((row, column)) for column in systems]) for row in systems],
        )
        for lengths, pairs in cells.items()
    ]


def _cell(difference: float, p: float, decimals: int) -> MatrixCell:
    verdict = "alike" if p >= SIGNIFICANT else "better" if difference > 0 else "worse"
    return MatrixCell(verdict, f"{difference:+.{decimals}f}", shown_p(p))
