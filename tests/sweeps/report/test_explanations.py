"""Findings about failures and about scores that disagree, on made translations."""

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.failures import TranslationKind
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.failure_shares import FailureShares, failure_table
from sweeps.comparison.significance_tables import significance_tests
from sweeps.report.explanations import (
    LEAST_PART,
    LEAST_SHARE,
    commonest_failures,
    disagreements,
    explained_falls,
    explanations,
    right_links,
)
from sweeps.report.group_tests import group_tests
from tests.helpers.failing_systems import LENGTHS, cut, looping, system, unknown


def explained(*systems):
    evaluation = evaluate(systems, LENGTHS)
    failures = FailureShares(evaluation)
    [group] = evaluation.groups
    return explanations(failures, group), list(explained_falls(failures, group))


@pytest.mark.parametrize(
    ("fails", "kind", "said"),
    [
        (looping, TranslationKind.LONG, "repeat themselves"),
        (cut, TranslationKind.SHORT, "are too short"),
        (unknown, TranslationKind.UNKNOWN, "have an unknown word at about the right length"),
    ],
)
def test_a_kind_of_failure_that_explains_a_fall_is_a_finding(fails, kind, said):
    [found], [finding] = explained(system("a", fails), system("b"))
    assert (found.system.name, found.kind) == ("a", kind)
    assert found.shares[0].value == 0
    assert found.shares[1].value == pytest.approx(50, abs=15)
    assert found.part >= LEAST_PART
    assert found.scores[1].value < found.without
    assert finding.claim.startswith("At 21–30 words, ")
    for words in (
        "“the a, labelled” " + said,
        "(at 1–10 words: 0% [0, 0])",
        f"{found.without:.1f}",
    ):
        assert words in finding.claim
    assert finding.short == ""


def test_the_commonest_failure_of_each_system_at_the_longest_sentences_is_named():
    def told(*systems):
        evaluation = evaluate(systems, LENGTHS)
        return commonest_failures(FailureShares(evaluation), evaluation.groups[0])

    both = told(system("b", looping, share=0.2), system("a", looping, share=0.7), system("c", cut))
    shares = re.fullmatch(
        r"At 21–30 words, (\d+)% of the translations by “the a, labelled” and (\d+)% by “the b, "
        r"labelled” are too long or repeat themselves; (\d+)% by “the c, labelled” are too short\.",
        both or "",
    )
    assert shares is not None
    assert 50 < int(shares[1]) < 90
    assert 5 < int(shares[2]) < 40
    assert 30 < int(shares[3]) < 70
    assert re.fullmatch(
        r"At 21–30 words, \d+% of the translations are too short\.", told(system("c", cut)) or ""
    )
    assert told(system("rare", looping, share=LEAST_SHARE / 200)) is None


def test_a_rare_kind_and_wrong_words_explain_nothing():
    """Few loops, and longer sentences with ever more wrong words."""

    def worse(words, rng):
        return [word if rng.random() < 0.6 else "wrong" for word in words]

    found, findings = explained(
        system("rare", looping, share=LEAST_SHARE / 200), system("worse", worse, share=1)
    )
    assert found == findings == []


def test_failures_at_all_lengths_explain_no_fall():
    found, _ = explained(system("always", looping, share=0.5, from_words=1))
    assert found == []


def test_a_system_alone_is_explained_and_seeds_are_means():
    [found], _ = explained(system("a", looping, seeds=(1, 2, 3)))
    assert len(found.shares[1].seeds) == 3
    assert found.shares[1].value == pytest.approx(np.mean(found.shares[1].seeds))


def test_shares_of_all_kinds_add_up_and_are_those_of_the_table():
    systems = [system("a", looping), system("b", cut, seeds=(1, 2))]
    failures = FailureShares(evaluate(systems, LENGTHS))
    table: Any = failure_table(failures)
    assert [row[:1] + row[2:3] for row in map(list, table.rows)] == [
        [name, lengths] for name in ("a", "b") for lengths in ("all", "1–10", "11–20", "21–30")
    ]
    for _, _, _, sentences, *shares in table.rows:
        assert sum(share.value for share in shares) == pytest.approx(100)
        assert all(share.low <= share.value <= share.high for share in shares)
        assert sentences > 30
    counted = [np.bincount(kinds, minlength=5) for kinds in failures.kinds["b"]]
    whole = [share.value for share in table.rows[4][4:]]
    assert whole == pytest.approx(100 * np.mean(counted, axis=0) / 240)


def half_right(words, rng):
    return words if rng.random() < 0.5 else [word[::-1] for word in words]


def test_another_score_with_another_best_system_is_a_finding():
    """Half of the sentences right and half wrong: more exact matches, but less BLEU."""
    systems = [
        system("close", share=0, from_words=1),
        system("halves", share=0, from_words=1, otherwise=half_right),
    ]
    evaluation = evaluate(systems, LENGTHS)
    tested = significance_tests(evaluation)
    [group] = group_tests(evaluation, tested["bleu"])
    assert group.ranked[0].name == "close"
    [finding] = disagreements(group, tested)
    exact = evaluation.mean(systems[1], None, "exact")
    for words in (
        "“the close, labelled”, which has the highest BLEU",
        "by exact match (%), “the halves, labelled” is ahead by ",
        f"({exact:.1f} and 0.0)",
    ):
        assert words in finding.claim
    assert "paired bootstrap and randomisation, p " in finding.test


def test_scores_that_agree_are_no_finding():
    evaluation = evaluate([system("a"), system("b", cut, from_words=1)], LENGTHS)
    tested = significance_tests(evaluation)
    [group] = group_tests(evaluation, tested["bleu"])
    assert list(disagreements(group, tested)) == []


@dataclass(frozen=True)
class Named:
    """A system by its name."""

    name: str

    @property
    def label(self) -> str:
        return self.name


@pytest.mark.parametrize(
    ("errors", "claim"),
    [
        (
            {"a": 40, "b": 20, "c": 30},
            "“b” has the lowest alignment error, 20.0 [19.0, 21.0]%; “a”, whose BLEU is the "
            "highest, has 40.0 [39.0, 41.0]%",
        ),
        (
            {"a": 20, "b": None, "c": 30},
            "“a”, whose BLEU is the highest, also has the lowest alignment error, "
            "20.0 [19.0, 21.0]%; “c” has 30.0 [29.0, 31.0]%",
        ),
        ({"a": 21, "b": 20, "c": 40}, None),  # overlapping intervals
        ({"a": None, "b": 20, "c": 40}, None),  # the best has no attention
        ({"a": 20, "b": None, "c": None}, None),
    ],
)
def test_the_attention_that_finds_most_links_is_a_finding(errors, claim):
    known = {
        name: None if error is None else Estimate(error, error - 1.0, error + 1.0)
        for name, error in errors.items()
    }
    group = SimpleNamespace(
        ranked=[Named(name) for name in errors],
        evaluation=SimpleNamespace(
            metrics=[SimpleNamespace(name="aer")],
            estimate=lambda system, bounds, metric: known[system.name],
        ),
    )
    found = list(right_links(cast(Any, group)))
    assert [each.claim for each in found] == ([] if claim is None else [claim])
