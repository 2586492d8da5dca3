"""Rows of ``bleu_by_length.csv``: each seed in each bucket, scored and written."""

import csv
import io

import numpy as np
import pytest

from lightning_modules.metrics.bootstrap import score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS, signatures
from lightning_modules.metrics.curves import CurvePoint, curve_points, format_csv
from lightning_modules.metrics.lengths import Bounds, length_buckets, sentence_lengths
from lightning_modules.metrics.resampling import Interval, Resamples, interval
from lightning_modules.metrics.systems import EvalSet
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from tests.helpers.made_text import SACREBLEU, corrupted, made_references, translated

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
    lengths = sentence_lengths(None, test_set.references, "reference_words")
    buckets = length_buckets(lengths, [10, 20, 30])
    return score_subsets(systems, list(METRICS.values()), buckets, Resamples(50, 3))


@pytest.fixture(scope="module")
def points(systems, scored):
    return curve_points(systems, scored)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_point_for_each_seed_and_bucket(points):
    keys = [(point.variant, point.seed, point.bounds.label) for point in points]
    assert keys == [
        (name, seed, label)
        for name, seed in (('gru, "lr"=0.1', 1), ('gru, "lr"=0.1', 2), ("none", 1))
        for label in ("1–10", "11–20", "21–30", "31+")
    ]
    assert [point.sentences for point in points] == [40, 1, 0, 1] * 3


def test_scores_are_sacrebleus_of_that_seed_and_bucket(points, systems, scored, test_set):
    outputs = [output for system in systems for output in system.outputs]
    for number, point in enumerate(points):
        index = scored[1 + number % 4].index
        if not len(index):
            assert point.scores == {}
            assert point.bleu is None
            continue
        lines = [outputs[number // 4].hypotheses[row] for row in index]
        references = [test_set.references[row] for row in index]
        assert set(point.scores) == {*TEXT_METRICS, "length_ratio"}
        assert point.bleu == point.scores["bleu"]
        for name, counter in SACREBLEU.items():
            expected = counter.corpus_score(lines, [references]).score
            assert point.scores[name] == pytest.approx(expected, rel=1e-12)


def test_intervals_are_each_seeds_own(points, scored):
    resampled = scored[1].resampled['gru, "lr"=0.1', "bleu"]
    assert points[0].bleu_interval == interval(resampled[0])
    assert points[4].bleu_interval == interval(resampled[1])
    assert points[0].bleu_interval != points[4].bleu_interval
    assert [point.bleu_interval is None for point in points] == [False, True, True, True] * 3


def test_the_whole_test_set_is_no_point(systems, scored):
    assert curve_points(systems, scored[:1]) == []


def test_csv_reads_back(points):
    text = format_csv(points, Resamples(50, 3))
    assert text.splitlines()[0].split(",") == COLUMNS
    assert "\r" not in text
    assert text.endswith("\n")
    for row, point in zip(rows_of(text), points, strict=True):
        assert row["variant"] == point.variant
        assert int(row["seed"]) == point.seed
        assert int(row["length_low"]) == point.bounds.low
        assert row["length_high"] == ("" if point.bounds.high is None else str(point.bounds.high))
        assert int(row["sentences"]) == point.sentences
        for name in METRICS:
            known = point.scores.get(name)
            assert row[name] == "" if known is None else float(row[name]) == round(known, 4)
        written = (row["bleu_low"], row["bleu_high"])
        if point.bleu_interval is None:
            assert written == ("", "")
        else:
            assert tuple(map(float, written)) == pytest.approx(point.bleu_interval, abs=5e-5)


def test_csv_by_hand():
    point = CurvePoint(
        "a", 7, Bounds(11, 20), 30, {"ter": 50.0, "bleu": 0.0, "aer": 12.34567}, Interval(0, 1 / 3)
    )
    empty = CurvePoint("b", 7, Bounds(61, None), 0, {}, None)
    origin = f"{signatures()['bleu']},50,3"
    assert format_csv([point, empty], Resamples(50, 3)).splitlines()[1:] == [
        f"a,7,11,20,30,0.0000,0.0000,0.3333,,,,50.0000,,,12.3457,,,,,,{origin}",
        f"b,7,61,,0,,,,,,,,,,,,,,,,{origin}",
    ]
