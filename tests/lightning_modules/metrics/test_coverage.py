"""How often intervals and tests are right, where the truth is known.

The seeds are fixed; the bounds leave room for about three standard errors of a simulated share.
"""

import numpy as np
import pytest

from lightning_modules.metrics import resampling
from tests.helpers.simulations import (
    LEVEL,
    equal_pairs,
    families,
    rejected,
    score_coverage,
    slope_coverage,
    trained_families,
    trained_pairs,
    unequal_pairs,
)

pytestmark = pytest.mark.long  # simulations


def shares(tests):
    """Shares of tests that call systems different, by bootstrap and by randomisation."""
    return rejected((test.p_bootstrap, test.p_randomisation) for test in tests)


def by_bootstrap(tests):
    return np.mean([test.p_bootstrap <= LEVEL for test in tests])


def test_intervals_hold_the_scores_of_the_population():
    assert all(0.91 < share < 0.97 for share in score_coverage(400))


def test_intervals_hold_the_slope_of_the_population():
    assert 0.91 < slope_coverage(400) < 0.97


def test_equal_systems_are_called_different_as_often_as_the_level_says():
    tests = equal_pairs(1000)
    assert all(0.025 < share < 0.07 for share in shares(tests))
    # The test of Moses and sacreBLEU does not hold its level, which is why it is not used here.
    assert np.mean([test.p_moses is not None and test.p_moses <= LEVEL for test in tests]) > 0.08


@pytest.mark.exhaustive
def test_families_of_equal_systems_seldom_have_a_difference():
    """6 pairs of systems on 4 sets of sentences, in 5% of families after Holm's correction."""
    assert all(share <= 0.07 for share in rejected(families(300)))


def test_a_real_difference_is_found():
    tests = unequal_pairs(60)
    assert all(test.difference.value > 0 for test in tests)
    assert all(share > 0.8 for share in shares(tests))


@pytest.mark.parametrize(("deviation", "without"), [(0.07, 0), (0.3, 0.09), (1.0, 0.12)])
def test_equal_systems_of_three_seeds(deviation, without, monkeypatch):
    """A few seeds estimate their variance badly; Student's t makes up for it."""
    tests = trained_pairs(500, deviation, seeds=3)
    assert by_bootstrap(tests) <= 0.07
    ends = np.array([(test.difference.low, test.difference.high) for test in tests], np.float64)
    assert np.mean((ends[:, 0] > 0) | (ends[:, 1] < 0)) <= 0.07
    monkeypatch.setattr(resampling, "degrees_of_freedom", lambda scores, variance: np.inf)
    assert by_bootstrap(trained_pairs(500, deviation, seeds=3)) >= without


def test_equal_systems_of_two_seeds():
    assert by_bootstrap(trained_pairs(500, 1.0, seeds=2)) <= 0.09


def test_families_of_three_seeds_seldom_have_a_difference():
    assert np.mean(np.array(trained_families(200, 1.0, seeds=3)) <= LEVEL) <= 0.07


def test_a_real_difference_between_trainings_is_found():
    assert by_bootstrap(trained_pairs(60, 0.07, seeds=3, effects=(0.0, 0.5))) > 0.8
