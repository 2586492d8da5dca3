"""Verdicts: rules, swapped systems, independence of other claims."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.claims.intervals import (
    Differences,
    Spread,
    above,
    below,
    difference,
    effect_interval,
    optimum,
    order,
)
from sweeps.claims.quantities import SystemValues
from sweeps.claims.verdict import Margin, Outcome, Says, correct_verdicts, decide, judge

DAY = date(2026, 11, 25)
HELD, FAILED, UNDECIDED = Outcome.HELD, Outcome.FAILED, Outcome.UNDECIDED


def spread(means, seeds=3, deviation=0.1, both=0.0, sentences=0.0):
    """A spread of independent systems."""
    count = len(means)
    return Spread(
        np.array(means, float),
        np.full(count, seeds),
        np.full(count, deviation**2),
        np.full(count, both**2),
        np.eye(count) * sentences**2,
    )


def outcome(means, differences=None, margin=1.0, says: Says = "larger", **noise):
    differences = differences or difference()
    return judge(spread(means, **noise), differences, Margin(margin, DAY, says)).outcome


@pytest.mark.parametrize(
    ("first", "verdict", "of_not_smaller", "of_no_difference"),
    [
        (12.0, HELD, HELD, FAILED),
        (11.0, UNDECIDED, HELD, UNDECIDED),
        (10.0, FAILED, HELD, HELD),
        (9.0, FAILED, UNDECIDED, UNDECIDED),
        (8.0, FAILED, FAILED, FAILED),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_margin(
    first, verdict, of_not_smaller, of_no_difference
):
    assert outcome([first, 10.0]) is verdict
    assert outcome([first, 10.0], says="not_smaller") is of_not_smaller
    assert outcome([first, 10.0], says="no_difference") is of_no_difference


def test_much_noise_decides_nothing():
    assert outcome([12, 10], deviation=5) is UNDECIDED
    assert outcome([12, 10], sentences=5) is UNDECIDED
    assert outcome([12, 10], both=5, deviation=5) is UNDECIDED


def test_one_and_two_seeds_decide_nothing():
    one = judge(spread([100, 0], seeds=1, deviation=np.nan), difference(), Margin(1, DAY))
    assert (one.outcome, one.interval, one.p, one.effect) == (UNDECIDED, None, 1.0, 100)
    two = judge(spread([100, 0], seeds=2), difference(), Margin(1, DAY))
    assert two.outcome is UNDECIDED
    assert two.interval is not None


def test_one_system_is_judged_against_a_number():
    assert outcome([5.0], above(3.0)) is HELD
    assert outcome([5.0], below(3.0)) is FAILED
    assert outcome([1.0], below(3.0)) is HELD


def test_an_order_needs_every_step():
    assert outcome([9, 6, 3], order(3)) is HELD
    assert outcome([9, 3, 6], order(3)) is FAILED
    assert outcome([9, 6, 5], order(3)) is UNDECIDED  # the last step is the margin


def test_an_optimum_is_at_its_place_or_elsewhere():
    assert outcome([1, 5, 9, 5], optimum(4, 2)) is HELD
    assert outcome([1, 8, 9, 5], optimum(4, 2)) is UNDECIDED  # the step to the next is the margin
    assert outcome([1, 5, 9, 5], optimum(4, 1)) is FAILED
    assert outcome([9, 5, 1, 5], optimum(4, 2, better=-1)) is HELD


def opposite(differences: Differences) -> Differences:
    """The claim with the parts of systems changed."""
    return Differences(-differences.weights.swapaxes(0, 1), -differences.reference)


@given(
    means=st.lists(st.floats(-50, 50), min_size=4, max_size=4),
    noise=st.lists(st.floats(0.01, 10), min_size=3, max_size=3),
    claim=st.sampled_from([difference(), order(4), optimum(4, 1)]),
    margin=st.floats(0.01, 20),
    seeds=st.integers(3, 6),
)
@settings(max_examples=40, deadline=None)
def test_swapped_systems_get_the_opposite_verdict(means, noise, claim, margin, seeds):
    deviation, both, sentences = noise
    values = spread(
        means[: claim.weights.shape[-1]], seeds, deviation, both=both, sentences=sentences
    )
    ours = judge(values, claim, Margin(margin, DAY))
    theirs = judge(values, opposite(claim), Margin(margin, DAY))
    assert theirs.effect == pytest.approx(-ours.effect)
    assert theirs.interval is not None
    assert ours.interval == pytest.approx([-end for end in theirs.interval[::-1]])
    if ours.outcome is HELD:
        assert theirs.outcome is FAILED
    if theirs.outcome is HELD:
        assert ours.outcome is FAILED
    for verdict in (ours, theirs):
        assert (verdict.p <= 0.05) == (verdict.outcome is not UNDECIDED)
    both_ways = [
        judge(values, each, Margin(margin, DAY, "no_difference"))
        for each in (claim, opposite(claim))
    ]
    assert both_ways[0].outcome is both_ways[1].outcome


def test_more_confidence_needs_a_wider_interval():
    values = spread([3, 2, 1], sentences=0.3, both=0.05)
    ends = [effect_interval(values, order(3), level) for level in (0.5, 0.9, 0.95, 0.99)]
    lows, highs = zip(*ends, strict=True)
    assert [*lows] == sorted(lows, reverse=True)
    assert [*highs] == sorted(highs)


def test_holm_takes_back_verdicts_that_are_barely_decided():
    barely = judge(spread([11.38, 10.0]), difference(), Margin(1, DAY))
    clearly = judge(spread([30.0, 10.0]), difference(), Margin(1, DAY))
    assert (barely.outcome, clearly.outcome) == (HELD, HELD)
    assert barely.p > 0.01
    assert [each.outcome for each in correct_verdicts([barely, clearly])] == [HELD, HELD]
    corrected = correct_verdicts([barely] * 5 + [clearly])
    assert [each.outcome for each in corrected] == [UNDECIDED] * 5 + [HELD]


def test_a_margin_is_above_0():
    with pytest.raises(ValueError, match="above 0"):
        Margin(0.0, DAY)


def test_repetitions_are_decided_as_one_by_one():
    means = np.random.default_rng(0).normal([11, 10, 8], 2, (20, 3))
    one = spread([0, 0, 0], sentences=0.2)
    many = Spread(means, one.seeds, np.tile(one.between_seeds, (20, 1)), one.both, one.sentences)
    margin = Margin(0.5, DAY)
    held, failed = decide(many, order(3), margin)
    for number, each in enumerate(means):
        alone = judge(spread(each, sentences=0.2), order(3), margin).outcome
        assert alone is (HELD if held[number] else FAILED if failed[number] else UNDECIDED)


def test_a_spread_has_the_parts_of_its_making():
    """Two systems share what sentences add to both; seeds and single sentences are apart."""
    rng = np.random.default_rng(0)
    count, resamples = 400, 4000
    shared = rng.normal(size=count)
    values = []
    for own in (rng.normal(size=count), rng.normal(size=count)):
        of_seeds = shared + own + 2 * rng.normal(size=(5, count))
        times = np.random.default_rng(1).multinomial(count, np.full(count, 1 / count), resamples)
        values.append(SystemValues(of_seeds.mean(1), of_seeds @ times.T / count))
    found = Spread.of(values)
    assert found.both == pytest.approx(np.full(2, 4 / count), rel=0.15)
    assert np.diag(found.sentences) == pytest.approx(np.full(2, 2 / count), rel=0.25)
    assert found.sentences[0, 1] == pytest.approx(1 / count, rel=0.5)
    assert found.sentences[0, 1] == pytest.approx(found.sentences[1, 0])
    assert found.seeds.tolist() == [5, 5]
