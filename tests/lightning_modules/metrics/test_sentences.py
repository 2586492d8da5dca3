"""Every sentence is in its one bucket; sentences on which systems differ come first."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_modules.metrics.sentences import (
    LENGTH_DIFFERENCE_BUCKETS,
    bucket_by_label,
    bucket_by_length_difference,
    bucket_by_score,
    most_different,
)
from lightning_modules.metrics.text_metrics import sentence_bleu
from tests.helpers.made_text import statistics_of

examples = settings(deadline=None, derandomize=True, max_examples=200, database=None)


def members(buckets):
    """The buckets that are not empty, as lists."""
    return {b.label: b.sentences.tolist() for b in buckets if len(b.sentences)}


def assert_partition(buckets, count):
    together = np.concatenate([bucket.sentences for bucket in buckets])
    assert sorted(together.tolist()) == list(range(count))


def lengths_apart(difference):
    return ("w " * max(-difference, 0) + "w", "w " * max(difference, 0) + "w")


def test_scores_fall_into_tenths_and_100_into_the_last():
    buckets = bucket_by_score([100, 0, 9.99, 10, 89.9, 90, 55, 10.5])
    assert [bucket.label for bucket in buckets][:2] == ["0 to < 10", "10 to < 20"]
    assert members(buckets) == {
        "0 to < 10": [1, 2],
        "10 to < 20": [3, 7],
        "50 to < 60": [6],
        "80 to < 90": [4],
        "90 to 100": [0, 5],
    }


def test_rounding_errors_do_not_move_a_score():
    assert members(bucket_by_score([29.999999999999996, 30])) == {"30 to < 40": [0, 1]}
    line = "the quick brown fox jumps"
    exact = sentence_bleu(statistics_of([line], [line]))
    assert exact[0] > 100
    assert members(bucket_by_score(exact)) == {"90 to 100": [0]}


@examples
@given(st.lists(st.floats(0, 100)))
def test_ten_buckets_of_scores_are_a_partition(scores):
    buckets = bucket_by_score(scores)
    assert len(buckets) == 10
    assert_partition(buckets, len(scores))
    for bucket in buckets:
        low, high = (int(edge) for edge in re.findall(r"\d+", bucket.label))
        for number in bucket.sentences:
            assert low - 1e-9 <= scores[number] <= high


@pytest.mark.parametrize("score", [-0.1, 100.1, float("nan")])
def test_what_is_no_score_is_named(score):
    with pytest.raises(ValueError, match=f"sentence 2: score {score} is not from 0 to 100"):
        bucket_by_score([50, score])


@pytest.mark.parametrize(
    ("label", "differences"),
    [
        ("< −20", [-40, -21]),
        ("−20 to −11", [-20, -11]),
        ("−10 to −6", [-10, -6]),
        ("−5", [-5]),
        ("−1", [-1]),
        ("0", [0]),
        ("+1", [1]),
        ("+5", [5]),
        ("+6 to +10", [6, 10]),
        ("+11 to +20", [11, 20]),
        ("> +20", [21, 40]),
    ],
)
def test_edges_of_length_difference(label, differences):
    references, hypotheses = zip(*map(lengths_apart, differences), strict=True)
    buckets = bucket_by_length_difference(references, hypotheses)
    assert members(buckets) == {label: list(range(len(differences)))}


def test_single_differences_have_the_bucket_of_their_number():
    for difference in range(-5, 6):
        reference, hypothesis = lengths_apart(difference)
        (label,) = members(bucket_by_length_difference([reference], [hypothesis]))
        assert int(label.replace("−", "-")) == difference


def test_lengths_are_whitespace_words_and_a_hypothesis_may_be_empty():
    buckets = bucket_by_length_difference(["l'eau, oui.", "你好 世界", "a"], ["", "你好", " b \n"])
    assert members(buckets) == {"−2": [0], "−1": [1], "0": [2]}


@examples
@given(st.lists(st.integers(-30, 30)))
def test_buckets_of_length_difference_are_a_partition(differences):
    references, hypotheses = [], []
    for reference, hypothesis in map(lengths_apart, differences):
        references.append(reference)
        hypotheses.append(hypothesis)
    buckets = bucket_by_length_difference(references, hypotheses)
    assert tuple(bucket.label for bucket in buckets) == LENGTH_DIFFERENCE_BUCKETS
    assert_partition(buckets, len(differences))
    inside = [{differences[n] for n in bucket.sentences} for bucket in buckets]
    assert all(max(lower) < min(upper) for lower, upper in pairwise(filter(None, inside)))


def test_buckets_by_label_are_in_alphabetical_order():
    buckets = bucket_by_label(["news", "talks", "", "news", "语"])
    assert [(bucket.label, bucket.sentences.tolist()) for bucket in buckets] == [
        ("", [2]),
        ("news", [0, 3]),
        ("talks", [1]),
        ("语", [4]),
    ]
    assert bucket_by_label([]) == []


def test_no_sentences_leave_all_buckets_empty():
    assert members(bucket_by_score([])) == {}
    assert members(bucket_by_length_difference([], [])) == {}


def test_unequal_lists_name_both_counts():
    with pytest.raises(ValueError, match="2 hypotheses for 1 references"):
        bucket_by_length_difference(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="2 identities for 3 sentences"):
        most_different(np.zeros((2, 3)), ["a", "b"])


def test_sentences_that_systems_differ_on_come_first():
    scores = [[10, 50, 0, 30], [20, 50, 90, 10], [15, 50, 40, 20]]
    assert most_different(scores, "abcd").tolist() == [2, 3, 0, 1]
    assert most_different(scores[:1], "abcd").tolist() == [0, 1, 2, 3]


def test_equal_differences_keep_the_order_of_sentences():
    # 0.3 - 0.1 and 0.2 - 0 differ by a rounding error
    assert most_different([[0.3, 5, 0.2, 0], [0.1, 5, 0, 0.2]], "abcd").tolist() == [0, 2, 3, 1]


def test_a_sentence_that_occurs_twice_is_listed_once():
    identities = [("src", "ref", "x"), ("src", "ref", "y"), ("src", "ref", "x")]
    assert most_different([[1, 2, 1], [0, 0, 0]], identities).tolist() == [1, 0]


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
