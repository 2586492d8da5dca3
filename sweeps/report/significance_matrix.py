"""Tests of every pair of systems as matrices, one for each range of lengths."""

from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.evaluation.significance import SIGNIFICANT, SignificanceTests
from sweeps.evaluation.tables import shown_p

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
    """Each system's label with a cell for every system; None for an untested pair."""


def significance_matrices(tests: SignificanceTests, labels: Mapping[str, str]) -> list[Matrix]:
    """Arrange differences and p-values of tests by systems, given their labels by name, in order.

    The whole test set comes first. The p-values are of the paired bootstrap, after Holm's
    correction over all tests.
    """
    cells: dict[str, dict[tuple[str, str], MatrixCell]] = {}
    sentences: dict[str, set[str]] = {}
    for corrected in tests.tests:
        test, p = corrected.test, corrected.p_bootstrap
        pairs = cells.setdefault(test.subset, {})
        pairs[test.first, test.second] = _cell(test.difference.value, p, tests.decimals)
        pairs[test.second, test.first] = _cell(-test.difference.value, p, tests.decimals)
        sentences.setdefault(test.subset, set()).add(str(test.sentences))
    return [
        Matrix(
            lengths,
            "/".join(sorted(sentences[lengths])),
            [
                (label, [pairs.get((row, column)) for column in labels])
                for row, label in labels.items()
            ],
        )
        for lengths, pairs in cells.items()
    ]


def _cell(difference: float, p: float, decimals: int) -> MatrixCell:
    verdict = "alike" if p >= SIGNIFICANT else "better" if difference > 0 else "worse"
    return MatrixCell(verdict, f"{difference:+.{decimals}f}", shown_p(p))
