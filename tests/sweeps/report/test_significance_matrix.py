"""Tests of pairs laid out as matrices."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.pair_tests import CorrectedTest, PairTest
from sweeps.comparison.significance_tables import (
    SENTENCES,
    SignificanceTests,
    conclusions,
    table_of_tests,
)
from sweeps.report.sections.significance import MatrixCell, significance_matrices


def family(*rows):
    """Tests given as (first, second, lengths, sentences, difference, corrected p-value)."""
    tests = [
        CorrectedTest(PairTest(first, second, lengths, count, Estimate(value), p, p, None), p, p)
        for first, second, lengths, count, value, p in rows
    ]
    return SignificanceTests(METRICS["bleu"], tests, resamples=10_000)


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
        "A": [None, MatrixCell("better", "+2.50", "p = 0.0100"), None],
        "B": [MatrixCell("worse", "−2.50", "p = 0.0100"), None, None],
        "C": [None, None, None],
    }
    assert [cell and cell.verdict for cell in short["A"]] == [None, "alike", None]
    assert short["B"][0] == MatrixCell("alike", "+1.00", "p = 0.2000")


@pytest.mark.parametrize(
    ("p", "symbols"), [(0.0499, ("▲", "▼")), (0.05, ("≈", "≈")), (1.0, ("≈", "≈"))]
)
def test_the_symbol_says_what_the_colour_says(p, symbols):
    [matrix] = significance_matrices(family(("a", "b", "all", 65, 1.0, p)), {"a": "A", "b": "B"})
    (_, [_, first]), (_, [second, _]) = matrix.rows
    assert first is not None
    assert second is not None
    assert (first.symbol, second.symbol) == symbols


def test_a_p_value_at_the_floor_is_shown_as_less_with_the_reason():
    least = 71 / 10_001
    pairs = [("a", str(n), "all", 65, 1.0, 0.5 if n else least) for n in range(71)]
    tests = family(*pairs)
    [matrix] = significance_matrices(tests, {"a": "A", "0": "0", "1": "1"})
    [_, at_floor, other] = dict(matrix.rows)["A"]
    assert at_floor
    assert other
    assert (at_floor.p, other.p) == ("p < 0.0071", "p = 0.5000")
    assert "10,000 resamples" in tests.why_no_less
    assert "71 tests less than 0.0071" in tests.why_no_less


def test_methods_that_disagree_are_marked_and_explained():
    made = family(("a", "b", "all", 65, 1.0, 0.01), ("a", "c", "all", 65, 1.0, 0.01))
    assert not made.why_they_disagree
    apart = replace(made.tests[1], p_randomisation=0.06)
    made = replace(made, tests=[made.tests[0], apart])
    [matrix] = significance_matrices(made, {"a": "a", "b": "b", "c": "c"})
    [_, agreed, marked] = dict(matrix.rows)["a"]
    assert agreed
    assert marked
    assert not agreed.disagreement
    assert marked.symbol == "≈†"
    assert "0.0600" in marked.disagreement
    assert made.why_they_disagree.startswith("†")
    systems: Any = [SimpleNamespace(name=name, label=name, outputs=[None]) for name in "abc"]
    table = table_of_tests(made, systems, SENTENCES, {"resamples": 10_000}, 10_000)
    assert [row[-1] for row in table.rows] == ["differ", "methods disagree †"]
    assert made.why_they_disagree in table.note


def test_the_terminal_explains_once_why_methods_disagree():
    pairs = family(*((first, "z", "all", 65, 1.0, 0.01) for first in "abc"))
    apart = [replace(each, p_randomisation=0.06) for each in pairs.tests[:2]]
    made = replace(pairs, tests=[*apart, pairs.tests[2]])
    systems = [SimpleNamespace(name=name) for name in "abcz"]
    evaluation: Any = SimpleNamespace(
        groups=[SimpleNamespace(systems=systems)], labels={name: name.upper() for name in "abcz"}
    )
    *_, first, second, why = conclusions(evaluation, made)
    assert first == "A and Z: bootstrap (p = 0.0100) and randomisation (p = 0.0600) disagree †"
    assert second.startswith("B and Z: ")
    assert why.startswith("† Only one of")
    assert not any("†" in line for line in conclusions(evaluation, pairs))
