"""Power of plans, and how many seeds or sentences a claim needs."""

from datetime import date

import numpy as np
import pytest
from scipy.special import ndtr

from sweeps.claims.intervals import Spread, above, difference
from sweeps.claims.power import Requirement, needed, power
from sweeps.claims.verdict import Margin

PILOT_MARGIN = Margin(1.0, date(2026, 1, 1))


def pilot_spread(effect, seeds=1000, deviation=1.0, sentences=0.0):
    """Two systems of which as much is known as ``seeds`` tell."""
    return Spread(
        np.array([effect, 0.0]),
        np.full(2, seeds),
        np.full(2, deviation**2),
        np.zeros(2),
        np.eye(2) * sentences**2 / 2,
    )


def test_power_against_a_normal_distribution():
    """One system that varies over sentences alone: a z test of known power."""
    one = Spread(np.array([2.0]), np.array([9]), np.zeros(1), np.zeros(1), np.array([[0.16]]))
    assert power(one, above(0), PILOT_MARGIN, 3) == pytest.approx(ndtr(1 / 0.4 - 1.96), abs=0.03)
    assert power(one, above(0), PILOT_MARGIN, 3, times=4) == pytest.approx(ndtr(5 - 1.96), abs=0.03)


def test_power_grows_with_seeds_effect_and_knowledge():
    powers = [power(pilot_spread(3), difference(), PILOT_MARGIN, seeds) for seeds in (3, 5, 10, 20)]
    assert powers == sorted(powers)
    assert power(pilot_spread(4), difference(), PILOT_MARGIN, 5) > powers[1]
    assert power(pilot_spread(3, seeds=3), difference(), PILOT_MARGIN, 10) < powers[2]


def test_needed_seeds_keep_the_promise_and_fewer_do_not():
    seen = pilot_spread(2.5)
    seeds, sentences = needed(seen, difference(), PILOT_MARGIN, 1000)
    assert seeds is not None
    assert power(seen, difference(), PILOT_MARGIN, seeds) >= 0.8
    assert power(seen, difference(), PILOT_MARGIN, seeds - 1) < 0.8
    assert sentences is not None  # 1000 seeds are there


def test_what_seeds_cannot_mend_sentences_can_and_the_reverse():
    of_sentences = needed(pilot_spread(1.5, 3, 0.01, sentences=1), difference(), PILOT_MARGIN, 1000)
    assert of_sentences.seeds is None
    assert of_sentences.sentences == pytest.approx(1000 * ((1.96 + 0.915) / 0.5) ** 2, rel=0.1)
    of_seeds = needed(pilot_spread(1.5, 3, 1), difference(), PILOT_MARGIN, 1000)
    assert of_seeds.sentences is None


def test_the_need_in_words():
    assert (
        Requirement(9, 5400).text() == "9 seeds of each system or 5,400 test sentences would decide"
    )
    assert Requirement(9, None).text() == "9 seeds of each system would decide"
    assert (
        Requirement(None, None).text()
        == "neither 100 seeds nor 100 times the sentences would decide"
    )


def test_one_seed_shows_no_variance():
    alone = Spread(
        np.array([9.0, 0]), np.ones(2, int), np.full(2, np.nan), np.zeros(2), np.zeros((2, 2))
    )
    assert needed(alone, difference(), PILOT_MARGIN, 1000) == (3, None)


@pytest.mark.filterwarnings("error")
def test_an_estimate_that_is_no_covariance_gives_no_warning():
    """Two systems of few seeds may seem to vary together more than each varies alone."""
    estimated = Spread(
        np.array([3.0, 0.0]),
        np.array([3, 3]),
        np.full(2, 0.5),
        np.full(2, 0.1),
        np.array([[0.2, 0.4], [0.4, 0.3]]),
    )
    assert 0 < power(estimated, difference(), Margin(1.0, date(2026, 1, 1)), 3) < 1
