"""Rows of ``bleu_by_length.csv``: each seed in each bucket, scored and written."""

import csv
import io

import numpy as np
import pytest

from lightning_modules.metrics.bootstrap import score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.curves import CurvePoint, curve_points, format_csv
from lightning_modules.metrics.lengths import Bounds, length_buckets, sentence_lengths
from lightning_modules.metrics.resampling import Interval, Resamples, interval
from lightning_modules.metrics.systems import EvalSet
from tests.helpers.made_text import corrupted, made_references, translated

COLUMNS = [
    *("variant", "seed", "length_low", "length_high", "sentences", "bleu", "bleu_low", "bleu_high"),
    *("exact", "chrf", "chrf++", "ter", "length_ratio", "perplexity", "aer", "precision"),
    *("recall", "entropy", "distance", "coverage", "signature", "resamples", "resampling_seed"),
]


@pytest.fixture(scope="module")
def test_set():
    """Sentences of 1 to 10 words, a sentence of 15 words and a sentence of more than 30."""
    references = made_references(40, np.random.default_rng(0), longest=10)
    return EvalSet([*references, " ".join(["word1 word2 word3"] * 5), " ".join("x" * 35)])


@pytest.fixture(scope="module")
def systems(test_set):
    rng = np.random.default_rng(1)
    made = [corrupted(test_set.references, 0.3, rng) for _ in range(3)]
    return [translated('gru, "lr"=0.1', test_set, *made[:2]), translated("none", test_set, made[2])]


@pytest.fixture(scope="module")
def scored(systems, test_set):
    lengths = sentence_lengths(test_set, "reference_words")
    buckets = length_buckets(lengths, [10, 20, 30])
    return score_subsets(systems, list(METRICS.values()), buckets, Resamples(50, 3))


@pytest.fixture(scope="module")
def points(systems, scored):
    return curve_points(systems, scored)


def test_a_point_for_each_seed_and_bucket(points):
    keys = [(point.variant, point.seed, point.bounds.label) for point in points]
    assert keys == [
        (name, seed, label)
        for name, seed in (('gru, "lr"=0.1', 1), ('gru, "lr"=0.1', 2), ("none", 1))
        for label in ("1–10", "11–20", "21–30", "31+")
    ]
    assert [point.sentences for point in points] == [40, 1, 0, 1] * 3


def test_scores_and_intervals_are_each_seeds_own(points, scored):
    for number, point in enumerate(points):
        subset, row = scored[1 + number % 4], 1 if number // 4 == 1 else 0
        assert point.scores == {
            metric: values[row]
            for (name, metric), values in subset.scores.items()
            if name == point.variant
        }
        expected = None
        if len(subset.index) > 1:
            expected = interval(subset.resampled[point.variant, "bleu"][row])
        assert point.bleu_interval == expected
    assert points[0].bleu_interval != points[4].bleu_interval
    assert points[2].scores == {}


def test_csv_reads_back(points):
    text = format_csv(points, Resamples(50, 3))
    assert text.splitlines()[0].split(",") == COLUMNS
    assert "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["variant"] for row in rows] == [point.variant for point in points]
    for row, point in zip(rows, points, strict=True):
        known = {name: float(row[name]) for name in METRICS if row[name]}
        assert known == pytest.approx(point.scores, abs=5e-5)


def test_csv_by_hand():
    point = CurvePoint(
        "a",
        7,
        Bounds(11, 20),
        30,
        {"ter": 50.0, "bleu": 0.0, "aer": 12.34567},
        Interval(0, 1 / 3),
        "s",
    )
    empty = CurvePoint("b", 7, Bounds(61, None), 0, {}, None, "nrefs:2")
    assert format_csv([point, empty], Resamples(50, 3)).splitlines()[1:] == [
        "a,7,11,20,30,0.0000,0.0000,0.3333,,,,50.0000,,,12.3457,,,,,,s,50,3",
        "b,7,61,,0,,,,,,,,,,,,,,,,nrefs:2,50,3",
    ]
