"""Measures of a claim: what is computed of each seed, and the effect of it."""

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from lightning_modules.metrics.lengths import length_buckets
from sweeps.claims.intervals import SystemValues
from sweeps.claims.measures import AnyMeasure, Measure, SentenceLengths

WORDS = np.repeat([5, 15, 35], 40)
LENGTHS = SentenceLengths(WORDS, length_buckets(WORDS, [10, 20, 40]))


def measure(**given) -> Measure:
    return TypeAdapter(AnyMeasure).validate_python(given)


def value(given: Measure, score_of):
    """The quantity of a system whose score on sentences of so many words is ``score_of``."""
    quantity = given.quantity(LENGTHS)
    parts = [WORDS if part is None else WORDS[part] for part in quantity.parts]
    return quantity.value(np.array([[score_of(words)] for words in parts]))[0]


def halves(every, start=80.0):
    """A score that is ``start`` on sentences of no words, and falls by half in ``every`` words."""
    return lambda words: start * 0.5 ** (words.mean() / every)


KEPT = {"long": [31, None], "short": [1, 10]}


def test_what_is_kept_has_no_floor():
    kept = measure(kind="kept", system="a", below=0.5, **KEPT)
    for start in (80.0, 0.8):
        assert value(kept, halves(30, start)) == pytest.approx(0.5)
    assert kept.effect([0.4]) == pytest.approx(0.1)
    pair = measure(kind="kept_difference", more="a", less="b", **KEPT)
    assert pair.effect([0.8, 0.3]) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no test sentence has 36 words or more"):
        measure(kind="kept", system="a", below=0.5, long=[36, None], short=[1, 9]).quantity(LENGTHS)


def test_a_slope_of_the_logarithm_is_the_same_for_any_scale():
    slope = measure(kind="slope", system="a", sign=-1, log=True)
    for start in (80.0, 0.8):
        assert value(slope, halves(10, start)) == pytest.approx(-np.log(2))
    assert slope.effect([-0.5]) == 0.5
    assert np.isnan(value(slope, halves(10, 0.0)))


def test_of_measures_without_a_floor_the_fall_of_bleu_is_shown_too():
    fall = {"kind": "slope", "sign": -1, "system": "a"}
    pair = {"kind": "slope_difference", "more": "a", "less": "b"}
    assert measure(**fall, log=True).beside == measure(**fall)
    assert measure(**pair, log=True).beside == measure(**pair)
    assert measure(kind="kept", system="a", below=0.5, **KEPT).beside == measure(**fall)
    assert measure(kind="kept_difference", more="a", less="b", **KEPT).beside == measure(**pair)
    assert measure(**fall).beside is None


ORDER = {"kind": "order", "order": ["a", "b", "c"]}


def test_an_order_is_one_number_of_each_seed():
    scores = np.array([[9.0, 1.0, 5.0], [5.0, 5.0, 5.0], [1.0, 9.0, 9.0]])  # (systems, seeds)
    [tau] = measure(**ORDER).compared([SystemValues(each) for each in scores])
    assert tau.observed == pytest.approx([1, -1, -2 / 3])
    assert measure(**ORDER).effect([19.0, 18.0, 17.0]) == 1
    assert measure(**ORDER).effect([17.0, 18.0, 19.0]) == -1
    fewer = [SystemValues(scores[0]), SystemValues(scores[1][:2]), SystemValues(scores[2])]
    with pytest.raises(ValueError, match="the same seeds of each system"):
        measure(**ORDER).compared(fewer)


def test_values_of_other_measures_are_compared_as_they_are():
    pair = measure(kind="difference", more="a", less="b")
    values = [SystemValues(np.array([9.0])), SystemValues(np.array([4.0]))]
    assert pair.compared(values) == values
    assert pair.effect([9.0, 4.0]) == 5


@pytest.mark.parametrize("kind", ["slope", "kept", "beyond", "left_beyond"])
def test_a_measure_without_its_keys_is_refused(kind):
    with pytest.raises(ValidationError):
        measure(kind=kind)
