"""Tests of every pair of systems as matrices, one for each range of lengths."""

from collections.abc import Mapping
from dataclasses import dataclass

from lightning_modules.metrics.uncertainty.significance import Corrected
from sweeps.evaluation.numbers import p_statement, shown_number
from sweeps.evaluation.significance import DAGGER, SignificanceTests, differ, disagree

SYMBOLS = {"better": "▲", "worse": "▼", "alike": "≈"}


@dataclass(frozen=True)
class MatrixCell:
    """Difference of two systems: the row's score minus the column's score."""

    verdict: str
    """A key of ``SYMBOLS``; ``alike`` unless both tests find a difference."""
    difference: str
    p: str
    """p by paired bootstrap: ``p = 0.0312``, or ``p < 0.0071`` at the floor of the resamples."""
    disagreement: str = ""
    """p by randomisation, where it disagrees with the bootstrap."""

    @property
    def symbol(self) -> str:
        """The verdict as a symbol, for readers who see no colours."""
        return SYMBOLS[self.verdict] + (DAGGER if self.disagreement else "")


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
        test, pairs = corrected.test, cells.setdefault(corrected.test.subset, {})
        pairs[test.first, test.second] = _cell(tests, corrected, test.difference.value)
        pairs[test.second, test.first] = _cell(tests, corrected, -test.difference.value)
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


def _cell(tests: SignificanceTests, corrected: Corrected, difference: float) -> MatrixCell:
    other = p_statement(corrected.p_randomisation, tests.floor)
    return MatrixCell(
        verdict="alike" if not differ(corrected) else "better" if difference > 0 else "worse",
        difference=shown_number(difference, tests.decimals, signed=True),
        p=p_statement(corrected.p_bootstrap, tests.floor),
        disagreement=f"by randomisation {other}" if disagree(corrected) else "",
    )
