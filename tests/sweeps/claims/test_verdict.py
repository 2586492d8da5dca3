"""Verdicts: rules, swapped systems, independence of other claims."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from lightning_modules.metrics.bootstrap import score_subset
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.contrast_choices import RIGHT_CHOICES
from lightning_modules.metrics.lengths import length_buckets, sentence_lengths, slope_per_ten
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import EvalSet
from sweeps.claims.intervals import (
    Differences,
    Draws,
    Spread,
    SystemValues,
    above,
    below,
    difference,
    effect_interval,
    optimum,
    order,
    score_on,
    share_left,
    slope_over,
)
from sweeps.claims.power import Requirement, find_requirement, power
from sweeps.claims.verdict import Margin, Outcome, Says, correct_verdicts, decide, judge
from tests.helpers.made_text import corrupted, made_references, translated
from tests.tools.simulate_claims import (
    EFFECTS,
    MARGIN,
    NOISES,
    SAME,
    of_equals,
    of_several,
    of_text,
    of_two,
    promises,
)

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
    return judge(spread(means, **noise), differences, Margin(margin, says)).outcome


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
    one = judge(spread([100, 0], seeds=1, deviation=np.nan), difference(), Margin(1))
    assert (one.outcome, one.interval, one.p, one.effect) == (UNDECIDED, None, 1.0, 100)
    two = judge(spread([100, 0], seeds=2), difference(), Margin(1))
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
    systems = means[: claim.weights.shape[-1]]
    values = spread(systems, seeds, deviation, both=both, sentences=sentences)
    ours = judge(values, claim, Margin(margin))
    theirs = judge(values, opposite(claim), Margin(margin))
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
        judge(values, each, Margin(margin, "no_difference")) for each in (claim, opposite(claim))
    ]
    assert both_ways[0].outcome is both_ways[1].outcome


def test_more_confidence_needs_a_wider_interval():
    values = spread([3, 2, 1], sentences=0.3, both=0.05)
    ends = [effect_interval(values, order(3), level) for level in (0.5, 0.9, 0.95, 0.99)]
    lows, highs = zip(*ends, strict=True)
    assert [*lows] == sorted(lows, reverse=True)
    assert [*highs] == sorted(highs)


def test_holm_takes_back_verdicts_that_are_barely_decided():
    barely = judge(spread([11.38, 10.0]), difference(), Margin(1))
    clearly = judge(spread([30.0, 10.0]), difference(), Margin(1))
    assert (barely.outcome, clearly.outcome) == (HELD, HELD)
    assert barely.p > 0.01
    assert [each.outcome for each in correct_verdicts([barely, clearly])] == [HELD, HELD]
    corrected = correct_verdicts([barely] * 5 + [clearly])
    assert [each.outcome for each in corrected] == [UNDECIDED] * 5 + [HELD]


def test_repetitions_are_decided_as_one_by_one():
    means = np.random.default_rng(0).normal([11, 10, 8], 2, (20, 3))
    one = spread([0, 0, 0], sentences=0.2)
    many = Spread(means, one.seeds, np.tile(one.between_seeds, (20, 1)), one.both, one.sentences)
    margin = Margin(0.5)
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


def pilot_spread(effect, seeds=1000, deviation=1.0, sentences=0.0):
    """Two systems of which as much is known as ``seeds`` tell."""
    return spread([effect, 0.0], seeds, deviation, sentences=sentences / 2**0.5)


def test_power_against_a_normal_distribution():
    """One system that varies over sentences alone: a z test of known power."""
    one = Spread(np.array([2.0]), np.array([9]), np.zeros(1), np.zeros(1), np.array([[0.16]]))
    assert power(one, above(0), MARGIN, 3) == pytest.approx(ndtr(1 / 0.4 - 1.96), abs=0.03)
    assert power(one, above(0), MARGIN, 3, times=4) == pytest.approx(ndtr(5 - 1.96), abs=0.03)


def test_power_grows_with_seeds_effect_and_knowledge():
    powers = [power(pilot_spread(3), difference(), MARGIN, seeds) for seeds in (3, 5, 10, 20)]
    assert powers == sorted(powers)
    assert power(pilot_spread(4), difference(), MARGIN, 5) > powers[1]
    assert power(pilot_spread(3, seeds=3), difference(), MARGIN, 10) < powers[2]


def test_needed_seeds_keep_the_promise_and_fewer_do_not():
    seen = pilot_spread(2.5)
    seeds, sentences = find_requirement(seen, difference(), MARGIN, 1000)
    assert seeds is not None
    assert power(seen, difference(), MARGIN, seeds) >= 0.8
    assert power(seen, difference(), MARGIN, seeds - 1) < 0.8
    assert sentences is not None  # 1000 seeds are there


def test_what_seeds_cannot_mend_sentences_can_and_the_reverse():
    pilot = pilot_spread(1.5, 3, 0.01, sentences=1)
    of_sentences = find_requirement(pilot, difference(), MARGIN, 1000)
    assert of_sentences.seeds is None
    assert of_sentences.sentences == pytest.approx(1000 * ((1.96 + 0.915) / 0.5) ** 2, rel=0.1)
    of_seeds = find_requirement(pilot_spread(1.5, 3, 1), difference(), MARGIN, 1000)
    assert of_seeds.sentences is None


def test_the_need_in_words():
    both = "9 seeds of each system or 5,400 test sentences would decide"
    assert Requirement(9, 5400).text() == both
    assert Requirement(9, None).text() == "9 seeds of each system would decide"
    neither = "neither 100 seeds nor 100 times the sentences would decide"
    assert Requirement(None, None).text() == neither


def test_one_seed_shows_no_variance():
    alone = spread([9.0, 0], seeds=1, deviation=np.nan)
    assert find_requirement(alone, difference(), MARGIN, 1000) == (3, None)


@pytest.mark.filterwarnings("error")
def test_an_estimate_that_is_no_covariance_gives_no_warning():
    """Two systems of few seeds may seem to vary together more than each varies alone."""
    covariance = np.array([[0.2, 0.4], [0.4, 0.3]])
    estimated = replace(spread([3.0, 0.0], 3, 0.7, both=0.3), sentences=covariance)
    assert 0 < power(estimated, difference(), Margin(1.0), 3) < 1


RESAMPLES = Resamples(50, 3)
BLEU, RATIO = METRICS["bleu"], METRICS["length_ratio"]


@pytest.fixture(scope="module")
def made():
    """A system of two seeds on 60 sentences, with their lengths."""
    references = made_references(60, np.random.default_rng(0), longest=15)
    lines = [corrupted(references, 0.2, np.random.default_rng(seed)) for seed in (1, 2)]
    lengths = sentence_lengths(ReferenceText(references), "reference_words")
    return translated("made", EvalSet(references), *lines), lengths


def counts_of(system):
    return [output.statistics["bleu"] for output in system.outputs]


def draws(rows=60):
    return Draws(np.arange(rows), RESAMPLES)


@pytest.mark.parametrize("metric", [BLEU, RATIO])
def test_a_score_has_the_values_of_the_bootstrap(made, metric):
    system, _ = made
    subset = score_subset([system], [metric], None, np.arange(60), RESAMPLES)
    found = draws().values(score_on(metric), counts_of(system))
    assert found.observed == pytest.approx(subset.scores["made", metric.name])
    assert found.resampled == pytest.approx(subset.resampled["made", metric.name])


def test_a_part_is_scored_on_its_drawn_sentences(made):
    system, lengths = made
    long = np.flatnonzero(lengths > 8)
    found = draws().values(score_on(RATIO, long), counts_of(system))
    masked = [np.where(lengths[:, None] > 8, each, 0) for each in counts_of(system)]
    expected = draws().values(score_on(RATIO), masked)
    assert found.observed == pytest.approx(expected.observed)
    assert found.resampled == pytest.approx(expected.resampled)


def test_slopes_and_relative_scores_come_from_scores_of_parts(made):
    system, lengths = made
    buckets = length_buckets(lengths, [5, 10, 15])
    parts = [draws().values(score_on(BLEU, each.index), counts_of(system)) for each in buckets]
    slope = draws().values(slope_over(BLEU, buckets), counts_of(system))
    for field in ("observed", "resampled"):
        scores = np.stack([getattr(part, field) for part in parts])
        assert getattr(slope, field) == pytest.approx(slope_per_ten(buckets, scores))
    left = share_left(BLEU, buckets[2].index, buckets[0].index)
    relative = draws().values(left, counts_of(system))
    assert relative.resampled == pytest.approx(parts[2].resampled / parts[0].resampled)


def test_pairs_of_one_sentence_are_drawn_together():
    rng = np.random.default_rng(0)
    sentence = np.repeat(np.arange(40), 3)
    right = np.stack([rng.integers(2, size=120), np.ones(120)], axis=1).astype(float)
    summed = np.add.reduceat(right, np.arange(0, 120, 3))
    found = Draws(sentence, RESAMPLES).values(score_on(RIGHT_CHOICES), [right])
    expected = draws(40).values(score_on(RIGHT_CHOICES), [summed])
    assert found.resampled == pytest.approx(expected.resampled)
    assert found.observed == pytest.approx(100 * right[:, 0].mean())


def test_values_do_not_depend_on_what_else_is_asked_for(made):
    system, lengths = made
    shared = draws()
    shared.values(slope_over(BLEU, length_buckets(lengths, [5, 10, 15])), counts_of(system))
    again, alone = (each.values(score_on(BLEU), counts_of(system)) for each in (shared, draws()))
    assert np.array_equal(again.resampled, alone.resampled)


def test_a_missing_value_is_told():
    counts = np.zeros((20, 2))
    with pytest.raises(ValueError, match=r"right choices \(%\) has no value for seed number 2"):
        draws(20).values(score_on(RIGHT_CHOICES), [counts + 1, counts])
    counts[0] = 1
    with pytest.raises(ValueError, match="on some resampled test sets"):
        draws(20).values(score_on(RIGHT_CHOICES), [counts])


COUNT = 4000
MOST = 0.06


@pytest.mark.long  # simulations
@pytest.mark.parametrize("seeds", [3, 5])
def test_wrong_verdicts_are_rare(seeds):
    for noise in NOISES:
        for effect in EFFECTS.values():
            ours, same = (of_two(effect, noise, seeds, COUNT, margin) for margin in (MARGIN, SAME))
            assert effect > MARGIN.size or ours.held <= MOST, noise
            assert effect < MARGIN.size or ours.failed <= MOST, noise
            assert abs(effect) < SAME.size or same.held <= MOST, noise
            assert abs(effect) > SAME.size or same.failed <= MOST, noise
        for optimal in (False, True):
            for rates in (
                of_several(1.0, noise, seeds, COUNT, optimal),
                of_equals(noise, seeds, COUNT, optimal),
            ):
                assert max(rates) <= MOST, noise


@pytest.mark.long  # simulations
def test_the_rule_decides_what_it_can():
    """Without seed noise and with little of it, few seeds are enough for an effect of 3."""
    assert of_two(3.0, NOISES[0], 3, COUNT).held > 0.95
    assert of_two(3.0, NOISES[1], 5, COUNT).held > 0.95


@pytest.mark.long  # simulations
@pytest.mark.exhaustive
@pytest.mark.parametrize("deviation", [0.0, 0.01])
def test_verdicts_on_resampled_translations(deviation):
    rates, covered = of_text(deviation, 3, 200)
    assert max(rates) <= 0.1
    assert covered > 0.9


@pytest.mark.long  # simulations
@pytest.mark.parametrize("known", [False, True])
def test_promised_seeds_decide(known):
    promise = promises(3.0, NOISES[1], 40, known)
    assert promise.decided >= 0.78
    assert promise.wrong <= 0.02
    assert promise.none < 0.2
