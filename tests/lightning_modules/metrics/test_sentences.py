"""Every sentence is in its one bucket; sentences on which systems differ come first."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_modules.metrics.sentences import (
    SCORE_BUCKETS,
    bucket_by_label,
    bucket_by_score,
    most_different,
)
from lightning_modules.metrics.text_metrics import sentence_bleu
from tests.helpers.made_text import statistics_of

examples = settings(deadline=None, derandomize=True, max_examples=60, database=None)


def members(scores):
    """The sentences of each bucket that has some."""
    buckets = zip(SCORE_BUCKETS, bucket_by_score(scores), strict=True)
    return {label: bucket.tolist() for label, bucket in buckets if len(bucket)}


def test_scores_fall_into_tenths_and_100_into_the_last():
    assert members([100, 0, 9.99, 10, 89.9, 90, 55, 10.5]) == {
        "0 to < 10": [1, 2],
        "10 to < 20": [3, 7],
        "50 to < 60": [6],
        "80 to < 90": [4],
        "90 to 100": [0, 5],
    }
    assert members([]) == {}


def test_rounding_errors_do_not_move_a_score():
    assert members([29.999999999999996, 30]) == {"30 to < 40": [0, 1]}
    line = "the quick brown fox jumps"
    exact = sentence_bleu(statistics_of([line], [line]))
    assert exact[0] > 100
    assert members(exact) == {"90 to 100": [0]}


@examples
@given(st.lists(st.floats(0, 100)))
def test_ten_buckets_of_scores_are_a_partition(scores):
    buckets = bucket_by_score(scores)
    assert len(buckets) == 10
    assert sorted(np.concatenate(buckets).tolist()) == list(range(len(scores)))
    for label, bucket in zip(SCORE_BUCKETS, buckets, strict=True):
        low, high = (int(edge) for edge in re.findall(r"\d+", label))
        for number in bucket:
            assert low - 1e-9 <= scores[number] <= high


@pytest.mark.parametrize("score", [-0.1, 100.1, float("nan")])
def test_what_is_no_score_is_named(score):
    with pytest.raises(ValueError, match=f"sentence 2: score {score} is not from 0 to 100"):
        bucket_by_score([50, score])


def test_buckets_by_label_are_in_alphabetical_order():
    buckets = bucket_by_label(["news", "talks", "", "news", "语"])
    found = [(label, bucket.tolist()) for label, bucket in buckets.items()]
    assert found == [("", [2]), ("news", [0, 3]), ("talks", [1]), ("语", [4])]
    assert bucket_by_label([]) == {}


def test_equal_differences_keep_the_order_of_sentences():
    # 0.3 - 0.1 and 0.2 - 0 differ by a rounding error
    assert most_different([[0.3, 5, 0.2, 0], [0.1, 5, 0, 0.2]], "abcd").tolist() == [0, 2, 3, 1]


@examples
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8), st.integers(1, 3))
def test_ranking_against_sorting(sentences, systems):
    scores = np.array([[(k + 1) * a + b for a, b in sentences] for k in range(systems)])
    seen = [n for n, identity in enumerate(sentences) if identity not in sentences[:n]]
    # The range of these scores is (systems - 1) · a.
    expected = sorted(seen, key=lambda n: -(systems - 1) * sentences[n][0])
    assert most_different(scores, sentences).tolist() == expected


def test_scores_are_a_table():
    for scores in ([], [1, 2], np.zeros((0, 2))):
        with pytest.raises(ValueError, match=r"scores must be \(systems, sentences\)"):
            most_different(scores, ["a", "b"])
