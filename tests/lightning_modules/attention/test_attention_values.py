"""Entropy, distance and coverage of attention, by hand and by brute force."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.metrics.metric import ratio
from lightning_modules.metrics.word_alignment import ATTENTION_VALUES, attention_statistics


class Values(NamedTuple):
    entropy: float
    distance: float
    coverage: float


def values(*weights):
    assert Values._fields == ATTENTION_VALUES
    return Values(*ratio(np.sum([attention_statistics(np.array(one)) for one in weights], 0)))


def test_a_corner():
    """All of four target words look at the first of four source words: coverage is 1 / 4."""
    weights = np.zeros((4, 4))
    weights[:, 0] = 1
    actual = values(weights)
    assert actual.entropy == 0
    assert actual.distance == pytest.approx((0 + 1 + 2 + 3) / 4 / 4)
    assert actual.coverage == 1 / 4


def test_words_lie_by_their_middles():
    """Two target words lie at 1/4 and 3/4, and one source word lies at 1/2."""
    assert values(np.ones((2, 1))).distance == pytest.approx(1 / 4)


def test_weights_on_special_tokens_count_for_coverage_alone():
    whole = np.array([[0.6, 0.2], [0.2, 0.6]])
    half = whole / 2
    assert values(half)[:2] == pytest.approx(values(whole)[:2])
    assert values(half).coverage == pytest.approx(values(whole).coverage / 2)


def test_nothing_to_divide_by():
    assert attention_statistics(np.zeros((0, 3))).tolist() == [[0, 0], [0, 0], [0, 3]]
    assert np.isnan(values(np.zeros((0, 3)))[:2]).all()
    assert np.isnan(values(np.zeros((0, 0)))).all()


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_brute_force_and_bounds(targets, sources, seed):
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(sources), size=targets) * random.choice(
        [0, 0.4, 1], (targets, 1)
    )
    weights *= random.random(weights.shape) < 0.7
    entropy = distance = 0.0
    looking = 0
    for j in range(targets):
        total = sum(weights[j])
        if not total:
            continue
        looking += 1
        for i in range(sources):
            share = weights[j, i] / total
            entropy -= share * math.log(share) if share else 0
            distance += share * abs((i + 0.5) / sources - (j + 0.5) / targets)
    coverage = sum(min(1, sum(weights[j, i] for j in range(targets))) for i in range(sources))
    expected = [[entropy, looking], [distance, looking], [coverage, sources]]
    statistics = attention_statistics(weights)
    np.testing.assert_allclose(statistics, expected, atol=1e-12)
    actual = Values(*ratio(statistics))
    assert 0 <= actual.coverage <= 1 + 1e-12
    if looking:
        assert 0 <= actual.entropy <= math.log(sources) + 1e-12
        assert 0 <= actual.distance < 1
