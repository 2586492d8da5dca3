"""Random effects against formulas, and against an example with published results."""

import numpy as np
import pytest
from scipy.stats import t

from sweeps.claims.pooling import CorpusEffect, pool
from sweeps.claims.verdict import Margin, Outcome


def pooled(effects, errors, margin=None):
    names = map(str, range(len(effects)))
    corpora = [*map(CorpusEffect, names, effects, errors)]
    return pool(corpora, "as measured", False, margin)


def test_without_errors_it_is_students_interval():
    """The draw is the unit: its mean, its deviation, and an interval of a new draw."""
    effects = np.array([0.2, 0.5, 0.4, 0.9, 0.1, 0.3, 0.6, 0.4])
    found = pooled(effects, np.zeros(8))
    low, high = t.interval(0.95, 7, effects.mean(), effects.std(ddof=1) / 8**0.5)
    assert found.effect == pytest.approx(effects.mean())
    assert found.interval == pytest.approx((low, high), rel=1e-4)
    assert found.tau == pytest.approx(effects.std(ddof=1), rel=1e-4)
    half = t.ppf(0.975, 6) * effects.std(ddof=1) * (1 + 1 / 8) ** 0.5
    assert found.prediction == pytest.approx((effects.mean() - half, effects.mean() + half), 1e-4)


def test_the_variance_over_corpora_solves_paule_and_mandels_equation():
    effects, errors = np.array([1.0, 3.0, 2.0, 6.0]), np.array([0.5, 1.0, 0.4, 0.8])
    found = pooled(effects, errors)
    weights = 1 / (errors**2 + found.tau**2)
    mean = weights @ effects / weights.sum()
    assert found.effect == pytest.approx(mean)
    assert weights @ (effects - mean) ** 2 == pytest.approx(3, abs=1e-3)
    # Hartung and Knapp: with this τ² their variance is 1 / the sum of the weights.
    half = t.ppf(0.975, 3) / weights.sum() ** 0.5
    assert found.interval == pytest.approx((mean - half, mean + half), rel=1e-3)


def test_effects_that_agree_by_chance_do_not_make_the_interval_too_short():
    found = pooled(np.array([1.0, 1.0001]), np.array([0.5, 0.5]))
    assert found.tau == 0
    half = t.ppf(0.975, 1) * 0.5 / 2**0.5
    assert found.interval == pytest.approx((1.00005 - half, 1.00005 + half), rel=1e-3)
    assert found.prediction == found.interval


def test_the_mean_is_judged_by_a_margin_of_its_scale():
    effects, errors = np.array([2.0, 2.2, 1.9, 2.1]), np.full(4, 0.1)
    assert pooled(effects, errors, Margin(1.0)).outcome is Outcome.SUPPORTED
    assert pooled(-effects, errors, Margin(1.0)).outcome is Outcome.REVERSED
    assert pooled(effects - 2, errors, Margin(1.0)).outcome is Outcome.NEGLIGIBLE
    assert pooled(effects, errors, Margin(2.0)).outcome is Outcome.UNDECIDED
    assert pooled(effects, errors).outcome is None
