"""Sentences about what was found follow the scores, and say no more than the tests."""

import random
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.significance_tables import significance_tests
from sweeps.report.headline import answer, headline
from tests.helpers.made_text import statistics_of
from tests.helpers.run_folders import scoring_of

SCORING = scoring_of(edges=[10, 20, 30], resamples=200)
WORDS = [f"word{number}" for number in range(40)]
RATES = {
    "steady": lambda length: 0.1,
    "falling": lambda length: 0.02 * length,
    "weak": lambda length: 0.5,
    "parting": lambda length: 0.1 if length <= 10 else 0.4,
    "crossing": lambda length: 0.0 if length <= 10 else 0.2,
}
"""Share of wrong words by the length of the sentence."""


@cache
def made_test(sentences=240):
    rng = random.Random(1)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(4, 30))) for _ in range(sentences)]
    return EvalSet(lines, lines)


@cache
def translations(kind, seed=1):
    rng = random.Random(f"{kind} {seed}")
    return [
        " ".join(
            "wrong" if rng.random() < RATES[kind](len(line.split())) else word
            for word in line.split()
        )
        for line in made_test().references
    ]


def system(name, kind, seeds=(1,)):
    test = made_test()
    outputs = []
    for seed in seeds:
        lines = translations(kind, seed)
        outputs.append(Output(seed, lines, statistics_of(lines, test.references), [Bleu()]))
    return System(name, test, outputs, f"the {name}, labelled")


class Trained(Comparison):
    """A comparison without runs that knows the lengths of the longest training sentences."""

    limits = ()

    @property
    def train_limits(self):
        return list(self.limits)


def findings(*systems, limits=()):
    evaluation = evaluate(systems, SCORING)
    tests = significance_tests(evaluation)
    comparison = Trained([], [], [])
    comparison.limits = limits
    return headline(evaluation, tests.get("bleu"), comparison)


def test_the_story_of_a_falling_system_names_its_tests():
    best, lengths = findings(system("a", "falling"), system("b", "steady"))
    assert best.claim.startswith("“the b, labelled” has the highest BLEU on the whole test set, ")
    assert re.fullmatch(r"paired bootstrap, p .* \(Holm, 4 tests\)", best.test)
    assert lengths.claim.startswith(
        "From 1–10 to 21–30 words, BLEU of “the a, labelled” falls from "
    )
    assert "; BLEU of “the b, labelled” " in lengths.claim
    assert ". “the b, labelled” is ahead of “the a, labelled” " in lengths.claim
    assert re.match(
        r"straight-line trend over all lengths: for every ten words more, the difference "
        r"grows by \d",
        lengths.test,
    )
    assert " (Holm, 1 pair); each length group: paired bootstrap, p " in lengths.test
    for each in (best, lengths):
        assert each.claim.count("[") == each.claim.count("]") >= 1


def test_curves_part_where_the_difference_becomes_real():
    _, lengths = findings(system("a", "steady"), system("b", "parting"))
    assert re.search(
        r"“the a, labelled” is ahead of “the b, labelled” from 11–20 words on, and not before: "
        r"by [\d.]+ \[[\d., ]+\] at 11–20 words and by [\d.]+ \[[\d., ]+\] at 21–30 words$",
        lengths.claim,
    )


def test_without_a_trend_the_best_system_is_ahead_by_so_much():
    _, parting = findings(system("a", "steady"), system("b", "weak"))
    assert re.fullmatch(
        r"“the a, labelled” is ahead of “the b, labelled” in every length group: "
        r"by [\d.]+ \[[\d., ]+\] at 1–10 words(, by [\d.]+ \[[\d., ]+\] at 11–20 words)? "
        r"and by [\d.]+ \[[\d., ]+\] at 21–30 words",
        parting.claim,
    )


def test_curves_that_cross_are_told():
    *_, crossing = findings(system("a", "steady"), system("b", "crossing"))
    assert re.fullmatch(
        r"The curves of “the a, labelled” and “the b, labelled” cross: “the b, labelled” is ahead "
        r"by [\d.]+ \[.*\] at 1–10 words, and behind by [\d.]+ \[.*\] at \d\d–\d\d words",
        crossing.claim,
    )
    for other in ("weak", "falling"):
        told = findings(system("a", "steady"), system("b", other))
        assert not any("cross" in each.claim for each in told)


def test_lengths_beyond_those_of_training_are_told():
    systems = [system("a", "falling"), system("b", "steady")]
    for limit, is_beyond in ((20, True), (21, False), (30, False)):
        claim = findings(*systems, limits=[limit])[1].claim
        assert (f"21–30 words (training sentences have at most {limit}), " in claim) == is_beyond
        short = findings(*systems, limits=[limit])[1].short
        beyond = "At 21–30 words, longer than any training sentence, BLEU"
        assert short.startswith(beyond) == is_beyond


@pytest.mark.parametrize("kinds", [("falling", "steady"), ("weak", "falling", "steady")])
def test_exchanged_scores_exchange_the_sentences(kinds):
    """The names move with the scores, and nothing else of the sentences changes."""
    names = "abc"[: len(kinds)]
    forward = findings(*(system(n, kind) for n, kind in zip(names, kinds, strict=True)))
    turned = findings(*(system(n, kind) for n, kind in zip(reversed(names), kinds, strict=True)))
    exchanged = dict(zip(names, reversed(names), strict=True))

    def moved(claim):
        return re.sub(r"the (\w), labelled", lambda m: f"the {exchanged[m[1]]}, labelled", claim)

    assert [moved(each.claim) for each in forward] == [each.claim for each in turned]
    assert [moved(each.short) for each in forward] == [each.short for each in turned]
    assert [each.test for each in forward] == [each.test for each in turned]


def test_shuffled_scores_leave_no_sentence_of_a_difference():
    """Each sentence's two translations change sides at random: then the systems are equal."""
    rng = np.random.default_rng(3)
    pair = translations("falling"), translations("steady")
    sides = rng.integers(2, size=len(pair[0]))
    test = made_test()
    systems = []
    for name, turned in (("a", 0), ("b", 1)):
        lines = [pair[side ^ turned][place] for place, side in enumerate(sides)]
        outputs = [Output(1, lines, statistics_of(lines, test.references), [Bleu()])]
        systems.append(System(name, test, outputs))
    assert _no_difference(findings(*systems))


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_two_equal_systems_differ_in_no_sentence(seeds):
    assert _no_difference(findings(system("a", "steady", seeds), system("b", "steady", seeds)))


def _no_difference(found):
    [only] = found
    return only.claim.startswith("No system is shown to have a higher BLEU than another: ")


def test_systems_that_are_alike_share_the_first_place():
    found = findings(system("a", "steady"), system("b", "steady"), system("c", "weak"))
    best, *_ = found
    assert best.short.endswith("have the highest BLEU; their order is not shown")
    assert best.claim.startswith("The highest BLEU have “the a, labelled” with ")
    assert "and “the b, labelled” with" in best.claim
    assert "whose order is not shown" in best.claim
    assert "“the c, labelled”, the next" in best.claim


def test_a_difference_that_one_of_two_tests_finds_is_not_told():
    """As the section of the tests says: take such a pair as not told apart."""
    evaluation = evaluate([system("a", "falling"), system("b", "steady")], SCORING)
    bleu = significance_tests(evaluation)["bleu"]
    apart = [replace(each, p_randomisation=0.06) for each in bleu.tests]
    assert all(each.p_bootstrap < 0.05 for each in bleu.tests if each.test.subset == "all")
    found = headline(evaluation, replace(bleu, tests=apart), Trained([], [], []))
    assert found[0].claim.startswith("No system is shown to have a higher BLEU than another: ")
    assert not any("is ahead" in each.claim for each in found)


def test_the_answer_gives_both_ends_of_the_curves_that_part():
    found = findings(system("a", "falling"), system("b", "steady"))
    numbers = re.fullmatch(
        r"At 21–30 words, BLEU is ([\d.]+) with “the b, labelled” and ([\d.]+) with "
        r"“the a, labelled”; at 1–10 words, ([\d.]+) and ([\d.]+)\.",
        answer(found) or "",
    )
    assert numbers is not None
    for number in numbers.groups():  # as in the finding, there with an interval
        assert f" {number} [" in found[1].claim


def test_without_curves_that_part_the_answer_names_the_best_system():
    answers = {"weak": "“the a, labelled” has the highest BLEU.", "steady": NOTHING}
    for kind, expected in answers.items():
        assert answer(findings(system("a", "steady"), system("b", kind))) == expected
    assert answer([]) is None


NOTHING = "No system is shown to have a higher BLEU than another."


def test_one_system_alone_has_no_findings():
    assert findings(system("a", "steady")) == []
