"""Power: the chance of a verdict, and the seeds that promise one."""

import numpy as np
import pytest
from scipy.special import ndtr

from sweeps.claims.intervals import Spread, above, difference
from sweeps.claims.power import find_seeds, power
from sweeps.claims.verdict import Margin

MARGIN = Margin(1.0)


def pilot(effect, seeds=1000, deviation=1.0, both=0.0, sentences=0.0):
    """Two systems of which as much is known as ``seeds`` tell."""
    return Spread(
        np.array([effect, 0.0]),
        np.full(2, seeds),
        np.full(2, deviation**2),
        np.full(2, both**2),
        np.eye(2) * sentences**2 / 2,
    )


def test_power_against_a_normal_distribution():
    """One system that varies over sentences alone: a z test of known power."""
    one = Spread(np.array([2.0]), np.array([9]), np.zeros(1), np.zeros(1), np.array([[0.16]]))
    assert power(one, above(0), MARGIN, 3) == pytest.approx(ndtr(1 / 0.4 - 1.96), abs=0.03)
    corrected = power(one, above(0), MARGIN, 3, level=0.05 / 10)
    assert corrected == pytest.approx(ndtr(1 / 0.4 - 2.807), abs=0.03)


def test_power_grows_with_seeds_effect_and_knowledge():
    powers = [power(pilot(3), difference(), MARGIN, seeds) for seeds in (3, 5, 10, 20)]
    assert powers == sorted(powers)
    assert power(pilot(4), difference(), MARGIN, 5) > powers[1]
    assert power(pilot(3, seeds=3), difference(), MARGIN, 10) < powers[2]


def test_an_effect_of_nothing_is_decided_too():
    assert power(pilot(0.0, deviation=0.3), difference(), MARGIN, 5) > 0.9


def test_needed_seeds_keep_the_promise_and_fewer_do_not():
    seeds = find_seeds(pilot(2.5), difference(), MARGIN)
    assert seeds is not None
    assert power(pilot(2.5), difference(), MARGIN, seeds) >= 0.8
    assert power(pilot(2.5), difference(), MARGIN, seeds - 1) < 0.8
    more = find_seeds(pilot(2.5), difference(), MARGIN, level=0.005)
    assert more is not None
    assert more > seeds


def test_no_seeds_help_against_few_sentences():
    assert find_seeds(pilot(1.5, 3, 0.01, sentences=1), difference(), MARGIN) is None
    assert find_seeds(pilot(9.0, deviation=0.01), difference(), MARGIN) == 3


@pytest.mark.filterwarnings("error")
def test_an_estimate_that_is_no_covariance_gives_no_warning():
    """Two systems of few seeds may seem to vary together more than each varies alone."""
    spread = pilot(3.0, 3, 0.7, both=0.3)
    spread.sentences[:] = [[0.2, 0.4], [0.4, 0.3]]
    assert 0 < power(spread, difference(), MARGIN, 3) < 1
