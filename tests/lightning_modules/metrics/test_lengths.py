"""Every sentence is in one length bucket; slopes and falls equal values worked by hand."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_modules.metrics.lengths import (
    THIN,
    Bounds,
    Bucket,
    LengthUnit,
    equal_edges,
    falls_below,
    length_buckets,
    merged_edges,
    sentence_lengths,
    slope_per_ten,
)
from lightning_modules.metrics.metric import ReferenceText
from tests.helpers.made_text import made_references, statistics_of

examples = settings(deadline=None, derandomize=True, max_examples=60, database=None)

LENGTHS = st.lists(st.integers(0, 90), max_size=40).map(lambda each: np.array(each, np.int64))
EDGES = st.sets(st.integers(1, 80), min_size=1, max_size=6).map(sorted)


def drawn(*points):
    """Buckets and scores of a curve through ``(mean length, score)``, 50 sentences each."""
    buckets = [Bucket(Bounds(1, None), np.arange(50), length) for length, _ in points]
    return buckets, [score for _, score in points]


# Buckets


@examples
@given(LENGTHS, EDGES)
def test_every_sentence_is_in_one_bucket(lengths, edges):
    buckets = length_buckets(lengths, edges)
    together = np.concatenate([bucket.index for bucket in buckets])
    assert sorted(together) == list(range(len(lengths)))
    for bucket in buckets:
        low, high = bucket.bounds.low, bucket.bounds.high
        inside = np.maximum(lengths[bucket.index], 1)  # an empty line counts to the shortest
        assert (inside >= low).all()
        assert high is None or (inside <= high).all()
        assert (np.diff(bucket.index) > 0).all()


@examples
@given(LENGTHS, EDGES)
def test_buckets_lie_side_by_side_up_to_the_last_edge_or_sentence(lengths, edges):
    bounds = [bucket.bounds for bucket in length_buckets(lengths, edges)]
    beyond = len(lengths) > 0 and lengths.max() > edges[-1]
    assert [each.high for each in bounds] == ([*edges, None] if beyond else edges)
    assert [each.low for each in bounds] == [1, *(edge + 1 for edge in edges)][: len(bounds)]


def test_an_edge_belongs_to_the_bucket_that_it_closes():
    buckets = length_buckets(np.array([11, 10, 31, 1, 0, 30]), [10, 20, 30])
    assert [bucket.index.tolist() for bucket in buckets] == [[1, 3, 4], [0], [5], [2]]
    assert [bucket.bounds.label for bucket in buckets] == ["1–10", "11–20", "21–30", "31+"]
    assert Bounds(7, 7).label == "7"


def test_empty_buckets_are_kept_and_the_open_one_is_not():
    buckets = length_buckets(np.array([25, 30]), [10, 20, 30, 40])
    assert [len(bucket.index) for bucket in buckets] == [0, 0, 2, 0]
    assert [bucket.mean_length for bucket in buckets] == [None, None, 27.5, None]


def test_fewer_than_30_sentences_are_thin():
    buckets = length_buckets(np.repeat([1, 2, 3], [0, THIN - 1, THIN]), [1, 2, 3])
    assert THIN == 30
    assert [bucket.thin for bucket in buckets] == [True, True, False]


@pytest.mark.parametrize("edges", [[], [0, 10], [10, 10], [20, 10], [5, 20, 10], [1.5], [-3]])
def test_wrong_edges_are_refused_in_one_line(edges):
    with pytest.raises(ValueError, match="ascending positive integers, not"):
        length_buckets(np.array([1]), edges)


# Equal buckets


@examples
@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=60), st.integers(1, 12))
def test_distinct_lengths_are_shared_out_equally(lengths, count):
    shuffled = np.random.default_rng(0).permutation(sorted(lengths))
    buckets = length_buckets(shuffled, equal_edges(shuffled.tolist(), count))
    sizes = [len(bucket.index) for bucket in buckets]
    assert len(sizes) == min(count, len(lengths))
    assert max(sizes) - min(sizes) <= 1


@examples
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 12))
def test_repeated_lengths_stay_together(lengths, count):
    edges = equal_edges(lengths, count)
    buckets = length_buckets(np.array(lengths), edges)
    assert 1 <= len(buckets) == len(edges) <= count
    assert all(len(bucket.index) for bucket in buckets)
    assert edges[-1] == max(*lengths, 1)
    # A sentence more than its share only where others have the same length.
    share = -(-len(lengths) // count)
    for bucket in buckets:
        longest = np.maximum(lengths, 1)[bucket.index].max()
        repeated = sum(max(length, 1) == longest for length in lengths)
        assert len(bucket.index) < share + repeated


def test_equal_edges_by_hand():
    assert equal_edges([5, 1, 4, 2, 3, 6], 3) == [2, 4, 6]
    assert equal_edges([5, 1, 4, 2, 3], 2) == [3, 5]
    assert equal_edges([5, 5, 5, 5, 9], 4) == [5, 9]
    assert equal_edges([0, 0], 3) == [1]


# Units


SOURCES = ["un, deux", "", "trois  quatre cinq "]
REFERENCES = ["one, two.", "x", " don't (stop) "]


def test_units():
    units: tuple[LengthUnit, ...] = get_args(LengthUnit)
    found = [sentence_lengths(ReferenceText(REFERENCES, SOURCES), unit).tolist() for unit in units]
    assert found == [[2, 0, 3], [2, 1, 2], [3, 0, 3], [4, 1, 4]]


def test_tokens_are_those_that_bleu_counts():
    odd = ["1,000.5 is $3-4", "a&quot;b &amp; c", "", "  ", "語 語語,", "l'eau.", "a\u00a0b\u2028c"]
    references = [*made_references(50, np.random.default_rng(0)), *odd]
    counted = statistics_of(["x"] * len(references), references)["bleu"][:, 1]
    lengths = sentence_lengths(ReferenceText(references), "reference_tokens")
    assert lengths.tolist() == counted.tolist()


def test_missing_sources_are_named():
    with pytest.raises(ValueError, match="no source sentences to count source words"):
        sentence_lengths(ReferenceText(REFERENCES), "source_words")


# Trends


def test_slope_is_that_of_a_weighted_fit():
    rng = np.random.default_rng(0)
    buckets = length_buckets(rng.integers(1, 70, 400), [3, 10, 25, 40, 60])
    scores = rng.normal(30, 5, (len(buckets), 2, 7))
    lengths = np.array([bucket.mean_length for bucket in buckets], np.float64)
    weights = np.sqrt([len(bucket.index) for bucket in buckets])  # polyfit squares them
    fitted = np.polyfit(lengths, scores.reshape(len(buckets), -1), 1, w=weights)[0]
    slopes = slope_per_ten(buckets, scores)
    assert slopes.shape == (2, 7)
    np.testing.assert_allclose(slopes.ravel(), 10 * fitted)


def test_a_single_bucket_has_no_slope():
    buckets, _ = drawn((5, 30))
    slopes = slope_per_ten(buckets, np.ones((1, 4)))
    assert slopes.shape == (4,)
    assert np.isnan(slopes).all()
    assert np.isnan(slope_per_ten([], np.ones((0,))))


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(5, 30), (15, 29), (25, 24)], None),  # 80% of 30 is not below it
        ([(5, 30), (15, 26), (25, 22)], 20),  # 24 lies half way
        ([(5, 30), (15, 24), (25, 12)], 15),  # at a bucket itself
        ([(5, 30), (15, 10), (25, 28)], None),  # recovers
        ([(5, 30), (15, 10), (25, 26), (35, 22)], 30),  # the last fall
        ([(5, 10), (15, 30), (25, 20), (35, 10)], 21),  # best in the middle, low before it
        ([(5, 30), (15, 10), (25, 5)], 8),  # below ever since: the first fall
        ([(5, 30)], None),
        ([(5, 0), (15, 0)], None),
        ([], None),
    ],
)
def test_falls_below_80_percent_of_the_best(points, expected):
    length = falls_below(*drawn(*points))
    assert length == (None if expected is None else pytest.approx(expected))


BOUNDS = [10, 20, 30, 40, 50, 60]


@pytest.mark.parametrize("least", [1, 100])
@pytest.mark.parametrize("size", [1, 150, 2000])
@pytest.mark.parametrize("mean", [5, 70])
def test_merged_buckets_hold_enough_sentences_where_the_text_has_them(size, mean, least):
    lengths = 1 + np.random.default_rng(size).poisson(mean, size).astype(np.int64)
    edges = merged_edges([lengths], BOUNDS, least)
    buckets = length_buckets(lengths, edges)
    assert set(edges) <= {*BOUNDS, int(lengths.max())}
    assert sum(len(bucket.index) for bucket in buckets) == size
    assert len(buckets) == 1 or min(len(bucket.index) for bucket in buckets) >= least
    whole = length_buckets(lengths, [edge for edge in BOUNDS if edge < lengths.max()] or [60])
    if min(len(bucket.index) for bucket in whole) >= least:
        assert len(buckets) == len(whole)  # nothing to merge


def test_merged_edges_by_hand():
    lengths = np.array([5] * 100 + [15] * 40 + [25] * 60 + [35] * 99, np.int64)
    assert merged_edges([lengths], BOUNDS, 100) == [10, 40]
    assert merged_edges([lengths], BOUNDS, 99) == [10, 30, 40]
    assert merged_edges([lengths, lengths[:150]], BOUNDS, 100) == [40]
    assert merged_edges([np.array([70, 80])], BOUNDS, 100) == [80]
    assert merged_edges([np.repeat([5, 70], 100)], BOUNDS, 100) == [10]
