"""The expected best of n draws equals the mean over all possible draws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.studies.search_performance import expected_best

examples = settings(deadline=None, derandomize=True, max_examples=100, database=None)
values = st.lists(st.sampled_from([0.0, 12.5, 12.5, 20.25, 31.0, -3.0]), min_size=1, max_size=5)


@examples
@given(values, st.booleans())
def test_the_best_of_n_draws_is_that_of_all_tuples(scores, largest):
    best = max if largest else min
    expected = expected_best(scores, largest)
    for n in range(1, len(scores) + 1):
        drawn = np.array([best(each) for each in product(scores, repeat=n)])
        assert expected.value[n - 1] == pytest.approx(drawn.mean())
        assert expected.deviation[n - 1] == pytest.approx(drawn.std(), abs=1e-7)


@examples
@given(values, st.booleans())
def test_more_trials_find_no_worse(scores, largest):
    steps = np.diff(expected_best(scores, largest).value)
    assert (steps >= -1e-9).all() if largest else (steps <= 1e-9).all()


def test_one_draw_is_the_mean_and_many_approach_the_best():
    scores = [*np.linspace(10, 20, 200), 21.0]
    expected = expected_best(scores)
    assert expected.value[0] == pytest.approx(np.mean(scores))
    assert 20.5 < expected.value[-1] < 21.0  # with replacement: the best may not be drawn


def test_the_band_ends_at_the_extreme_values():
    expected = expected_best([1.0, 1.0, 1.0, 1.0, 9.0])
    assert expected.low.min() == 1.0
    assert expected.high.max() == 9.0
    assert expected_best([1.0, 9.0, 9.0, 9.0, 9.0], largest=False).low.min() == 1.0
    assert (expected.low <= expected.value).all()
    assert (expected.value <= expected.high).all()


def test_nothing_can_be_expected_of_no_trials():
    with pytest.raises(ValueError, match="nothing to draw from"):
        expected_best([])
