"""Verdicts: what intervals show, swapped systems, and simulations of known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.claims.gates import find_collapsed, why_too_few
from sweeps.claims.intervals import (
    Differences,
    Spread,
    SystemValues,
    above,
    below,
    difference,
    effect_interval,
    optimum,
    order,
)
from sweeps.claims.verdict import Margin, Outcome, Says, decide, judge
from tests.tools.simulate_claims import (
    COLLAPSES,
    EFFECTS,
    MARGIN,
    NOISES,
    SAYS,
    WAYS,
    below_floor,
    of_bimodal,
    of_corpora,
    of_optimum,
    of_order,
    of_papers,
    of_text,
    of_trajectory,
    of_two,
    verdicts,
    wrong,
)

SUPPORTED, REVERSED = Outcome.SUPPORTED, Outcome.REVERSED
NEGLIGIBLE, UNDECIDED = Outcome.NEGLIGIBLE, Outcome.UNDECIDED


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
    ("first", "of_larger", "of_not_smaller", "of_no_difference"),
    [
        (12.0, SUPPORTED, SUPPORTED, REVERSED),
        (11.0, UNDECIDED, SUPPORTED, UNDECIDED),
        (10.0, NEGLIGIBLE, SUPPORTED, SUPPORTED),
        (9.0, UNDECIDED, UNDECIDED, UNDECIDED),
        (8.0, REVERSED, REVERSED, REVERSED),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_margin(
    first, of_larger, of_not_smaller, of_no_difference
):
    assert outcome([first, 10.0]) is of_larger
    assert outcome([first, 10.0], says="not_smaller") is of_not_smaller
    assert outcome([first, 10.0], says="no_difference") is of_no_difference


def test_a_direction_needs_95_percent_and_no_effect_two_tests_of_5_percent():
    """Between the ends of the 90% and of the 95% interval, only an equivalence is shown."""
    for effect in np.linspace(-3, 3, 61):
        values = spread([effect, 0.0], deviation=0.4)
        wide, narrow = (effect_interval(values, difference(), level) for level in (0.95, 0.9))
        found = judge(values, difference(), MARGIN)
        assert (found.outcome is SUPPORTED) == (wide.low > 1)
        assert (found.outcome is REVERSED) == (wide.high < -1)
        assert (found.outcome is NEGLIGIBLE) == (-1 < narrow.low <= narrow.high < 1)
        assert found.interval == pytest.approx(wide)


def test_much_noise_decides_nothing():
    assert outcome([12, 10], deviation=5) is UNDECIDED
    assert outcome([12, 10], sentences=5) is UNDECIDED
    assert outcome([12, 10], both=5, deviation=5) is UNDECIDED


def test_one_and_two_seeds_decide_nothing():
    one = judge(spread([100, 0], seeds=1, deviation=np.nan), difference(), Margin(1))
    assert (one.outcome, one.interval, one.p, one.effect) == (UNDECIDED, None, 1.0, 100)
    assert one.reason == "1 seed of a system; 3 are needed"
    two = judge(spread([100, 0], seeds=2), difference(), Margin(1))
    assert two.outcome is UNDECIDED
    assert two.interval is not None
    assert two.reason == "2 seeds of a system; 3 are needed"


def test_a_gate_takes_the_decision_and_leaves_the_effect():
    found = judge(spread([12.0, 10.0]), difference(), MARGIN)
    unfair = found.without(Outcome.NOT_FAIR, "the control did not learn")
    assert (unfair.effect, unfair.interval, unfair.p) == (found.effect, found.interval, 1.0)
    assert not unfair.outcome.decided
    assert found.outcome.decided


def test_one_system_is_judged_against_a_number():
    assert outcome([5.0], above(3.0)) is SUPPORTED
    assert outcome([5.0], below(3.0)) is REVERSED
    assert outcome([1.0], below(3.0)) is SUPPORTED


def test_an_optimum_is_at_its_place_or_elsewhere():
    assert outcome([1, 5, 9, 5], optimum(4, 2)) is SUPPORTED
    assert outcome([1, 8, 9, 5], optimum(4, 2)) is UNDECIDED  # the step to the next is the margin
    assert outcome([1, 9, 9, 5], optimum(4, 2)) is NEGLIGIBLE
    assert outcome([1, 5, 9, 5], optimum(4, 1)) is REVERSED
    assert outcome([9, 5, 1, 5], optimum(4, 2, better=-1)) is SUPPORTED


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
    for says in ("larger", "no_difference"):
        ours = judge(values, claim, Margin(margin, says))
        theirs = judge(values, opposite(claim), Margin(margin, says))
        assert theirs.effect == pytest.approx(-ours.effect)
        assert theirs.interval is not None
        assert ours.interval == pytest.approx([-end for end in theirs.interval[::-1]])
        turned = {SUPPORTED: REVERSED, REVERSED: SUPPORTED} if says == "larger" else {}
        assert theirs.outcome is turned.get(ours.outcome, ours.outcome)
        for verdict in (ours, theirs):
            assert (verdict.p <= 0.05) == verdict.outcome.decided


def test_another_level_is_that_of_a_correction():
    """A claim is decided at a level exactly if its p-value is not larger."""
    values = spread([11.6, 10.0], deviation=0.2)
    p = judge(values, difference(), MARGIN).p
    assert 0.001 < p < 0.05
    for level, decided in ((p * 1.01, True), (p * 0.99, False)):
        assert any(decide(values, difference(), MARGIN, level).values()) is decided


def test_more_confidence_needs_a_wider_interval():
    values = spread([3, 2, 1], sentences=0.3, both=0.05)
    ends = [effect_interval(values, order(3), level) for level in (0.5, 0.9, 0.95, 0.99)]
    lows, highs = zip(*ends, strict=True)
    assert [*lows] == sorted(lows, reverse=True)
    assert [*highs] == sorted(highs)


def test_repetitions_are_decided_as_one_by_one():
    means = np.random.default_rng(0).normal([11, 10, 8], 2, (20, 3))
    one = spread([0, 0, 0], sentences=0.2)
    many = Spread(means, one.seeds, np.tile(one.between_seeds, (20, 1)), one.both, one.sentences)
    margin = Margin(0.5)
    shown = decide(many, order(3), margin)
    for number, each in enumerate(means):
        alone = judge(spread(each, sentences=0.2), order(3), margin).outcome
        found = [outcome for outcome, repetitions in shown.items() if repetitions[number]]
        assert found == ([alone] if alone.decided else [])


def test_simulations_leave_out_what_the_gate_leaves_out():
    rng = np.random.default_rng(0)
    values = np.array([12.0, 10.0])[:, None] + 0.1 * rng.normal(size=(40, 2, 5))
    values *= np.where(rng.random(values.shape) < 0.2, 0.3, 1.0)
    for each in values:
        trained = {
            system: dict(enumerate(of)) for system, of in zip(("one", "other"), each, strict=True)
        }
        collapsed = find_collapsed(trained)
        few = why_too_few({system: [*of] for system, of in trained.items()}, collapsed)
        kept = [
            SystemValues(np.array([of[s] for s in of if s not in collapsed.get(system, ())]))
            for system, of in trained.items()
        ]
        expected = UNDECIDED if few else judge(Spread.of(kept), difference(), MARGIN).outcome
        found = verdicts(each[None], MARGIN)
        assert found.supported == (expected is SUPPORTED)


COUNT = 4000
MOST = 0.06
"""5% and three standard errors of a share of ``COUNT`` repetitions."""
FEW = 400
MOST_OF_FEW = 0.085


@pytest.mark.long  # simulations
@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("says", SAYS)
def test_wrong_verdicts_are_rare(seeds, says):
    for noise in NOISES:
        for effect in EFFECTS:
            found = of_two(effect, noise, seeds, COUNT, says)
            assert wrong(found, effect, Margin(1.0, says)) <= MOST, (noise, effect)


@pytest.mark.long  # simulations
@pytest.mark.parametrize("says", SAYS)
def test_collapsed_trainings_make_no_wrong_verdicts(says):
    for collapse in COLLAPSES:
        for effect in (-1.0, 1.0):
            found = of_bimodal(effect, collapse, 5, COUNT, says)
            assert wrong(found, effect, Margin(1.0, says)) <= MOST, (collapse, effect)


@pytest.mark.long  # simulations
@pytest.mark.parametrize("seeds", [3, 5])
def test_wrong_optima_and_orders_are_rare(seeds):
    for noise in NOISES[:4]:
        for alike in (False, True):
            assert wrong(of_optimum(noise, seeds, COUNT, alike), 1.0, MARGIN) <= MOST, noise
    for systems, step in ((3, 0.2), (3, 1.0), (5, 0.2), (5, 1.0)):
        true, found = of_order(systems, step, seeds, 2 * FEW)
        assert wrong(found, true, Margin(true)) <= MOST_OF_FEW, (systems, step)


@pytest.mark.long  # simulations
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_trajectories_are_not_judged_before_they_settle(way):
    for noise in (0.2, 1.0):
        found, *_ = of_trajectory(way, noise, 5, FEW)
        assert wrong(found, way.limit, MARGIN) <= MOST_OF_FEW, noise


@pytest.mark.long  # simulations
@pytest.mark.parametrize(("corpora", "seeds"), [(2, 5), (4, 5), (10, 5), (8, 1)])
def test_pooled_effects_are_rarely_wrong(corpora, seeds):
    for tau in (0.0, 1.0, 3.0):
        found, mean, predicted = of_corpora(corpora, tau, 1.0, seeds, FEW)
        assert wrong(found, 1.0, MARGIN) <= MOST_OF_FEW, tau
        assert mean >= 0.915, tau
        assert predicted >= 0.88, tau


@pytest.mark.long  # simulations
def test_corrections_keep_the_chance_of_a_wrong_verdict_of_a_paper():
    before, after, found = of_papers(6, 5, 6.0, FEW // 8)
    assert after <= MOST_OF_FEW
    assert after < before
    assert found > 0.5


@pytest.mark.long  # simulations
def test_the_rule_decides_what_it_can():
    """With little seed noise, few seeds are enough for an effect of 3; with more, a few more."""
    assert of_two(3.0, NOISES[0], 3, COUNT).supported > 0.95
    assert of_two(3.0, NOISES[1], 8, COUNT).supported > 0.6
    collapse = COLLAPSES[-1]
    assert of_bimodal(5.0, replace_fall(collapse), 5, COUNT).supported > 0.4
    found, converged, *_ = of_trajectory(WAYS[1], 0.2, 5, FEW)
    assert found.supported > 0.9 < converged
    assert below_floor(5.9, 35.0, 1.0, 100) == 1.0


def replace_fall(collapse):
    return collapse._replace(first=0.2, second=0.2, fall=20.0)


@pytest.mark.long  # simulations
@pytest.mark.exhaustive
@pytest.mark.parametrize("deviation", [0.0, 0.01])
def test_verdicts_on_resampled_translations(deviation):
    rates, covered = of_text(deviation, 3, 200)
    assert rates.supported <= 0.1
    assert rates.reversed <= 0.1
    assert covered > 0.9
