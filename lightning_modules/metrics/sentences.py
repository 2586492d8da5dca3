"""Which sentences to look at: buckets by score, length or label, and those that systems differ on.

A bucket is a set of sentence numbers, so that any statistic counted for each sentence can be summed
over it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightning_modules.metrics.checks import check_aligned

SCORE_BUCKETS = (*(f"{low} to < {low + 10}" for low in range(0, 90, 10)), "90 to 100")
LENGTH_DIFFERENCE_BUCKETS = (
    *("< −20", "−20 to −11", "−10 to −6", "−5", "−4", "−3", "−2", "−1"),
    *("0", "+1", "+2", "+3", "+4", "+5", "+6 to +10", "+11 to +20", "> +20"),
)
"""Words by which a hypothesis is longer than its reference, as compare-mt groups them."""

READABLE_WORDS = 20
_SCORE_EDGES = range(10, 100, 10)
_LENGTH_DIFFERENCE_EDGES = (-20, -10, *range(-5, 7), 11, 21)
_DIGITS = 9
"""Of a score: one that should be 100 or 30 may come as 100.00000000000004 or 29.999999999999996."""


@dataclass(frozen=True, eq=False)
class SentenceBucket:
    """Numbers of the sentences with something in common, counted from 0 and ascending."""

    label: str
    sentences: NDArray[np.int64]


def bucket_by_score(scores: Sequence[float] | NDArray[np.floating]) -> list[SentenceBucket]:
    """Ten buckets of sentences by score: 0 and below 10, …, 90 to 100 inclusive, even if empty.

    Raises ``ValueError`` for a score that is not between 0 and 100.
    """
    rounded = np.round(np.asarray(scores, dtype=np.float64), _DIGITS)
    if (wrong := np.flatnonzero(~((rounded >= 0) & (rounded <= 100)))).size:
        number = int(wrong[0])
        raise ValueError(f"sentence {number + 1}: score {scores[number]} is not from 0 to 100")
    return _buckets(np.searchsorted(_SCORE_EDGES, rounded, side="right"), SCORE_BUCKETS)


def bucket_by_length_difference(
    references: Sequence[str], hypotheses: Sequence[str]
) -> list[SentenceBucket]:
    """Sentences by whitespace-separated words that the hypothesis has more than its reference.

    There is a bucket for each of ``LENGTH_DIFFERENCE_BUCKETS``, even if empty. Raises
    ``ValueError`` for lists of unequal length.
    """
    check_aligned(references=references, hypotheses=hypotheses)
    more = [
        len(hypothesis.split()) - len(reference.split())
        for reference, hypothesis in zip(references, hypotheses, strict=True)
    ]
    buckets = np.searchsorted(_LENGTH_DIFFERENCE_EDGES, more, side="right")
    return _buckets(buckets, LENGTH_DIFFERENCE_BUCKETS)


def bucket_by_label(labels: Sequence[str]) -> list[SentenceBucket]:
    """Sentences by the label given for each (its domain, say), in alphabetical order."""
    names = sorted(set(labels))
    index = {name: bucket for bucket, name in enumerate(names)}
    return _buckets(np.array([index[label] for label in labels], dtype=np.int64), names)


def _buckets(bucket_of: NDArray[np.int64], labels: Sequence[str]) -> list[SentenceBucket]:
    return [
        SentenceBucket(label, np.flatnonzero(bucket_of == bucket))
        for bucket, label in enumerate(labels)
    ]


def readable(lines: Sequence[str]) -> int:
    """Number of the sentence that tells most and is still easily read: the longest of 20 words."""
    words = [len(line.split()) for line in lines]
    effort = [
        (count > READABLE_WORDS, count if count > READABLE_WORDS else -count) for count in words
    ]
    return min(range(len(words)), key=effort.__getitem__)


def most_different(scores: ArrayLike, identities: Sequence[Hashable]) -> NDArray[np.int64]:
    """Sentence numbers from 0, those first whose best and worst system lie furthest apart.

    ``scores`` (systems, sentences) has a score from each system for each sentence. Of sentences
    with equal ``identities`` (their source, reference and outputs, say) only the first is kept;
    equal differences stay in the order of the sentences.

    Raises ``ValueError`` for no system or not as many identities as sentences.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"scores must be (systems, sentences), not of shape {table.shape}")
    check_aligned(sentences=table.T, identities=identities)
    first: dict[Hashable, int] = {}
    for number, identity in enumerate(identities):
        first.setdefault(identity, number)
    unique = np.array(list(first.values()), dtype=np.int64)
    spread = np.round(np.ptp(table, axis=0), _DIGITS)[unique]
    return unique[np.argsort(-spread, kind="stable")]
