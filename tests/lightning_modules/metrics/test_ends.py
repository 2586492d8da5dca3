"""The probability of EOS by the number of tokens that the reference still has."""

import numpy as np
import pytest

from lightning_modules.metrics.ends import BEFORE_END, ENDS, end_counts


def test_positions_are_counted_from_the_end():
    [counts] = end_counts([-np.log(np.array([0.1, 0.2, 0.3, 0.4, 0.9]))])
    sums, positions = np.split(counts, 2)
    assert sums.tolist() == pytest.approx([0.9, 0.4, 0.3 + 0.2, 0.1, 0, 0, 0])
    assert positions.tolist() == [1, 1, 2, 1, 0, 0, 0]


def test_each_position_is_in_one_group():
    counts = end_counts([np.zeros(length) for length in (1, 7, 40, 100)])
    assert counts[:, len(BEFORE_END) :].sum(1).tolist() == [1, 7, 40, 100]
    assert counts[:, : len(BEFORE_END)].tolist() == counts[:, len(BEFORE_END) :].tolist()  # P = 1


def test_percentages_are_means_over_positions():
    sums = end_counts([-np.log(np.array([0.1, 0.5])), -np.log(np.array([0.7]))]).sum(0)
    assert [each.label for each in ENDS] == ["0", "1", "2–3", "4–7", "8–15", "16–31", "32+"]
    at_end, before, *others = [float(each.score(sums)) for each in ENDS]
    assert (at_end, before) == pytest.approx((60, 10))
    assert np.isnan(others).all()
