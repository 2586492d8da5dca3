"""Tests of pairs laid out as matrices."""

import pytest

from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from lightning_modules.metrics.uncertainty.significance import Corrected, Test
from sweeps.evaluation.significance import SignificanceTests
from sweeps.report.significance_matrix import MatrixCell, significance_matrices


def family(*rows):
    """Tests given as (first, second, lengths, sentences, difference, corrected p-value)."""
    tests = [
        Corrected(Test(first, second, lengths, count, Estimate(value), p, p, None), p, p)
        for first, second, lengths, count, value, p in rows
    ]
    return SignificanceTests(METRICS["bleu"], tests)


def test_every_tested_pair_stands_twice_with_opposite_signs():
    matrices = significance_matrices(
        family(("a", "b", "all", 65, 2.5, 0.01), ("a", "b", "1–10", 32, -1.0, 0.2)),
        {"a": "A", "b": "B", "c": "C"},
    )
    assert [(matrix.lengths, matrix.sentences) for matrix in matrices] == [
        ("all", "65"),
        ("1–10", "32"),
    ]
    whole, short = (dict(matrix.rows) for matrix in matrices)
    assert whole == {
        "A": [None, MatrixCell("better", "+2.50", "0.0100"), None],
        "B": [MatrixCell("worse", "-2.50", "0.0100"), None, None],
        "C": [None, None, None],
    }
    assert [cell and cell.verdict for cell in short["A"]] == [None, "alike", None]
    assert short["B"][0] == MatrixCell("alike", "+1.00", "0.2000")


@pytest.mark.parametrize(
    ("p", "symbols"), [(0.0499, ("▲", "▼")), (0.05, ("≈", "≈")), (1.0, ("≈", "≈"))]
)
def test_the_symbol_says_what_the_colour_says(p, symbols):
    [matrix] = significance_matrices(family(("a", "b", "all", 65, 1.0, p)), {"a": "A", "b": "B"})
    (_, [_, first]), (_, [second, _]) = matrix.rows
    assert first is not None
    assert second is not None
    assert (first.symbol, second.symbol) == symbols
