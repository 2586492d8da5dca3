"""Agreement of published values with ours."""

import math

import numpy as np
import pytest

from sweeps.claims.published_bleu import agreement, cv_star


def test_cv_star_of_two_values_is_nearly_their_relative_difference():
    """Of n = 2: s* = |a - b| / √2 / √(2/π), times 1 + 1/8."""
    assert cv_star([20.0, 22.0]) == pytest.approx(112.5 * math.sqrt(math.pi) / 2 * 2 / 21)
    assert cv_star([20.0, 20.0]) == 0


def test_cv_star_is_without_bias_for_a_normal_distribution():
    rows = np.random.default_rng(0).normal(100, 1, (20_000, 3))
    assert np.mean([cv_star(row) for row in rows]) == pytest.approx(1 + 1 / 12, rel=0.01)


@pytest.mark.parametrize("values", [[1.0], [-1.0, 1.0]])
def test_cv_star_needs_values_and_a_mean(values):
    with pytest.raises(ValueError, match="CV"):
        cv_star(values)


def test_equal_tables_agree_and_reversed_ones_do_not():
    table = [18.1, 18.6, 17.3, 19.0]
    same = agreement(table, table)
    assert (same.pearson, same.spearman, same.kendall, same.same_sign) == pytest.approx(
        (1, 1, 1, 1)
    )
    assert same.cv == (0, 0, 0, 0)
    other = agreement(table, [40 - value for value in table])
    assert (other.pearson, other.spearman, other.kendall) == pytest.approx((-1, -1, -1))
    assert other.same_sign == 0


def test_two_zeros_have_no_variation():
    assert agreement([0.0, 1, 2], [0.0, 1, 2]).cv == (None, 0, 0)
    first, *_ = agreement([0.0, 1, 2], [1.0, 1, 2]).cv
    assert first is not None
    assert first > 100


def test_published_ties_have_no_direction():
    found = agreement([1, 1, 2], [5, 6, 7])
    assert found.same_sign == 1
    assert agreement([1, 2, 3], [5, 5, 7]).same_sign == pytest.approx(2 / 3)
    flat = agreement([1, 1, 1], [5, 6, 7])
    assert (flat.spearman, flat.same_sign) == (None, None)
    with pytest.raises(ValueError, match="2 published values for 1"):
        agreement([1, 2], [3])
