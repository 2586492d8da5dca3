"""The findings of a comparison, from systems that are made to fall, to part or to cross."""

import random
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.significance_tables import differ, significance_tests
from sweeps.report.group_tests import WHOLE, group_tests
from sweeps.report.headline import answer, headline
from sweeps.report.run_headline import run_headline
from tests.helpers.made_text import statistics_of
from tests.helpers.run_folders import scoring_of

LENGTHS = scoring_of(edges=[10, 20, 30], resamples=200)
WORDS = [f"word{number}" for number in range(40)]
RATES = {
    "steady": lambda length: 0.1,
    "falling": lambda length: 0.02 * length,
    "steeper": lambda length: 0.04 * length,
    "weak": lambda length: 0.5,
    "lost": lambda length: 0.9,
    "parting": lambda length: 0.1 if length <= 10 else 0.4,
    "early": lambda length: 0.0 if length <= 10 else 0.5 - 0.01 * length,
    "crossing": lambda length: 0.0 if length <= 10 else 0.2,
    "rising": lambda length: 0.6 - 0.02 * length,
    "as falling": lambda length: 0.02 * length,
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


def findings(*systems, limits=(), plain=()):
    evaluation = evaluate(systems, LENGTHS)
    tests = significance_tests(evaluation)
    return headline(group_tests(evaluation, tests.get("bleu")), limits, plain)


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
        r"trend over all lengths: for every ten words more, BLEU of “the b, labelled” divided by "
        r"that of “the a, labelled” grows by \d+% \[\d+, \d+\], ",
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


@pytest.mark.parametrize(
    ("kind", "topic"), [("crossing", "Crossing curves"), ("falling", "By length")]
)
def test_two_systems_are_compared_in_one_sentence(kind, topic):
    """Where their curves cross, that sentence has the test of the trend, too."""
    found = findings(system("a", kind), system("b", "steady"), system("c", "weak"), plain=["a"])
    assert [each.topic for each in found[2:]].count(topic) == 1
    assert found[2].topic == topic
    assert "trend over all lengths: " in found[2].test


def test_lengths_beyond_those_of_training_are_told():
    systems = [system("a", "falling"), system("b", "steady")]
    for limit, is_beyond in ((20, True), (21, False), (30, False)):
        claim = findings(*systems, limits=[limit])[1].claim
        assert (f"21–30 words (training sentences have at most {limit}), " in claim) == is_beyond
        short = findings(*systems, limits=[limit])[1].short
        assert short.startswith("From 1–10 to 21–30 words, BLEU falls by ")


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
    assert [moved(each.test) for each in forward] == [each.test for each in turned]


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


def test_a_system_that_varies_much_is_not_among_the_first():
    steady, crossing = system("a", "steady", (1, 2, 3)), system("b", "crossing", (1, 2, 3))
    nothing = [""] * len(made_test().references)
    failed = [
        Output(seed, nothing, statistics_of(nothing, made_test().references), [Bleu()])
        for seed in (2, 3)
    ]
    varied = System("c", made_test(), [*system("c", "steady").outputs, *failed], "the c, labelled")
    evaluation = evaluate([steady, crossing, varied], LENGTHS)
    tests = significance_tests(evaluation)["bleu"]
    [group] = group_tests(evaluation, tests)
    assert [each.name for each in group.ranked] == ["a", "b", "c"]
    apart = group.test(steady, varied, WHOLE)
    assert apart is not None
    assert not differ(apart)
    best, *_ = headline([group], ())
    assert best.short == "“the a, labelled” has the highest BLEU"


def test_a_difference_that_one_of_two_tests_finds_is_not_told():
    """As the section of the tests says: take such a pair as not told apart."""
    evaluation = evaluate([system("a", "falling"), system("b", "steady")], LENGTHS)
    bleu = significance_tests(evaluation)["bleu"]
    apart = [replace(each, p_randomisation_holm=0.06) for each in bleu.tests]
    assert all(each.p_bootstrap_holm < 0.05 for each in bleu.tests if each.subset == "all")
    found = headline(group_tests(evaluation, replace(bleu, tests=apart)), ())
    assert found[0].claim.startswith("No system is shown to have a higher BLEU than another: ")
    assert not any("is ahead" in each.claim for each in found)


def test_the_answer_gives_both_ends_of_the_curves_that_part():
    found = findings(system("a", "falling"), system("b", "steady"))
    numbers = re.fullmatch(
        r"From 1–10 to 21–30 words, BLEU falls by (\d+)% with “the a, labelled”; "
        r"no fall is shown with “the b, labelled”\.",
        answer(found) or "",
    )
    assert numbers is not None
    ends = re.search(r"falls from ([\d.]+) \[.*?\] to ([\d.]+)", found[1].claim)
    assert ends is not None
    share = 100 * (1 - float(ends[2]) / float(ends[1]))
    assert float(numbers[1]) == pytest.approx(share, abs=1)


def test_a_system_that_translates_nothing_does_not_count_as_robust():
    found = findings(system("a", "falling"), system("b", "steeper"), system("z", "lost"))
    assert found[0].short == "“the a, labelled” has the highest BLEU"
    assert "BLEU of “the b, labelled” falls" in found[1].claim
    assert "BLEU of “the a, labelled” falls" in found[1].claim


def test_the_answer_has_the_largest_fall_first_and_two_of_many_systems():
    kinds = {"a": "steady", "b": "steeper", "c": "falling"}
    few = answer(findings(*(system(name, kind) for name, kind in kinds.items())))
    falls = [int(share) for share in re.findall(r"(\d+)%", few or "")]
    assert falls == sorted(falls, reverse=True)
    assert len(falls) == 2
    many = kinds | dict.fromkeys("def", "weak")
    told = answer(findings(*(system(name, kind) for name, kind in many.items())))
    assert re.findall(r"the (\w), labelled", told or "") == ["b", "a"]


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (("steeper", "falling"), "The system with attention loses less: {b}."),
        (("steeper", "falling", "steady"), "Both with attention lose less: {b} and {c}."),
        (("falling", "steady", "steeper"), "1 of 2 with attention lose less: {b}; {c} loses more."),
        (
            ("falling", "steady", "as falling"),
            "1 of 2 with attention lose less: {b}; no clear difference for {c}.",
        ),
        (("falling", "steeper"), "No system with attention is shown to lose less: {b}."),
    ],
)
def test_systems_with_attention_are_compared_with_the_one_without(kinds, told):
    systems = [system(name, kind) for name, kind in zip("abc", kinds, strict=False)]
    found = answer(findings(*systems, plain=["a"])) or ""
    start = r"From 1–10 to 21–30 words, “the a, labelled” loses \d+% of its BLEU \([^)]+\)\. "
    shares = {name: rf"“the {name}, labelled” \((\d+%|no clear fall)\)" for name in "bc"}
    assert re.fullmatch(start + told.format(**shares), found), found
    # Nothing of the kind where several systems, or none, have no attention.
    for plain in ((), ["a", "b"]):
        assert "with attention" not in (answer(findings(*systems, plain=plain)) or "")


@pytest.mark.parametrize(("kind", "told"), [("early", True), ("falling", False)])
def test_a_fall_that_ends_early_is_told(kind, told):
    found = answer(findings(system("a", kind), system("b", "steady"), plain=["a"])) or ""
    lost = re.search(r" loses (\d+)% of its BLEU \(([\d.]+) to ([\d.]+)(; [\d.]+ alr|\))", found)
    assert lost
    assert int(lost[1]) == pytest.approx(100 * (1 - float(lost[3]) / float(lost[2])), abs=1)
    assert (" already at 11–20 words). " in found) == told


@pytest.mark.parametrize(("plain", "other"), [("falling", "steady"), ("early", "falling")])
def test_the_answer_rests_on_a_finding_with_intervals_and_tests(plain, other):
    systems = [system("a", plain), system("b", other), system("c", other)]
    found = findings(*systems, plain=["a"], limits=[20])
    [rests] = [each for each in found if f"{each.short}." == answer(found)]
    assert rests.claim.startswith("From 1–10 to 21–30 words (training sentences have at most 20), ")
    for name in "abc":
        assert re.search(rf"of “the {name}, labelled” \w+ .*\[[\d.]+, [\d.]+\]", rests.claim)
    real = other == "steady"
    assert (" grows by " in rests.test) == real
    assert ("no system is shown to keep a larger share" in rests.test) == (not real)
    assert "Holm over 3 pairs" in rests.test
    assert rests.listing is not None
    assert [name for name, _ in rests.listing.values] == [
        f"“the {name}, labelled”" for name in "abc"
    ]
    for _, change in rests.listing.values:
        assert change in rests.claim
    pair = findings(*systems[:2], plain=["a"], limits=[20])  # one sentence says all of two systems
    assert len([each for each in pair if each.claim.startswith("From 1–10")]) == 1


def test_trends_that_are_not_clear_are_named():
    """A clear trend in the other direction is clear, too."""
    for kind, unclear in (("as falling", True), ("steeper", False)):
        kinds = {"a": "falling", "b": "steady", "c": kind}
        found = findings(*(system(name, kind) for name, kind in kinds.items()), plain=["a"])
        [rests] = [each for each in found if f"{each.short}." == answer(found)]
        assert rests.test.endswith("; no clear trend for “the c, labelled”") == unclear


@pytest.mark.parametrize(("kind", "told"), [("early", True), ("steady", False)])
def test_one_run_says_where_its_largest_clear_fall_is(kind, told):
    *_, by_length = run_headline(evaluate([system("a", kind)], LENGTHS))
    where = "; the largest clear fall from one group to the next is from 1–10 to 11–20 words, by "
    assert (where in by_length.claim) == told
    assert ("clear fall" in by_length.claim) == told
    changes = r"falls by \d+%" if told else "neither falls nor rises clearly"
    opens = rf"BLEU is [\d.]+, and {changes} from 1–10 to 21–30 words \([\d.]+ to [\d.]+\)"
    assert re.match(opens, by_length.short)


def test_one_run_says_by_how_much_bleu_rises():
    *_, by_length = run_headline(evaluate([system("a", "rising")], LENGTHS))
    found = re.search(r" rises by (\d+)% from .* \(([\d.]+) to ([\d.]+)\)", by_length.short)
    assert found
    share, start, end = map(float, found.groups())
    assert share == pytest.approx(100 * (end / start - 1), rel=0.05)


def test_without_curves_that_part_the_answer_names_the_best_system():
    answers = {"weak": "“the a, labelled” has the highest BLEU.", "steady": NOTHING}
    for kind, expected in answers.items():
        assert answer(findings(system("a", "steady"), system("b", kind))) == expected
    assert answer([]) is None


NOTHING = "No system is shown to have a higher BLEU than another."


def test_one_system_alone_has_no_findings():
    assert findings(system("a", "steady")) == []
