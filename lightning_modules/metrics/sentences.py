"""Buckets of sentences by score, length or label, and sentences on which systems differ.

A bucket is a set of sentence numbers, so that any statistic counted for each sentence can be summed
over the bucket.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightning_modules.metrics.metric import check_aligned

SCORE_BUCKETS = (*(f"{low} to < {low + 10}" for low in range(0, 90, 10)), "90 to 100")
LENGTH_DIFFERENCE_BUCKETS = (
    *("< −20", "−20 to −11", "−10 to −6", "−5", "−4", "−3", "−2", "−1"),
    *("0", "+1", "+2", "+3", "+4", "+5", "+6 to +10", "+11 to +20", "> +20"),
)
"""Words by which a hypothesis is longer than its reference, grouped as in compare-mt."""

READABLE_WORDS = 20
_SCORE_EDGES = range(10, 100, 10)
_LENGTH_DIFFERENCE_EDGES = (-20, -10, *range(-5, 7), 11, 21)
_DIGITS = 9
"""Decimals of a rounded score: 100 may be computed as 100.00000000000004."""


@dataclass(frozen=True, eq=False)
class SentenceBucket:
    """Sentences with a common property."""

    label: str
    sentences: NDArray[np.int64]
    """Sentence numbers, counted from 0 and ascending."""


def bucket_by_score(scores: Sequence[float] | NDArray[np.floating]) -> list[SentenceBucket]:
    """Put sentences into ten buckets by score: 0 and below 10, …, 90 to 100 inclusive.

    Empty buckets are kept. Raises ``ValueError`` for a score that is not between 0 and 100.
    """
    rounded = np.round(np.asarray(scores, dtype=np.float64), _DIGITS)
    if (wrong := np.flatnonzero(~((rounded >= 0) & (rounded <= 100)))).size:
        number = int(wrong[0])
        raise ValueError(f"sentence {number + 1}: score {scores[number]} is not from 0 to 100")
    return _buckets(np.searchsorted(_SCORE_EDGES, rounded, side="right"), SCORE_BUCKETS)


def bucket_by_length_difference(
    references: Sequence[str], hypotheses: Sequence[str]
) -> list[SentenceBucket]:
    """Put sentences into buckets by how many words the hypothesis has more than its reference.

    Words are separated by whitespace. There is a bucket for each of ``LENGTH_DIFFERENCE_BUCKETS``,
    even if empty. Raises ``ValueError`` for lists of unequal length.
    """
    check_aligned(references=references, hypotheses=hypotheses)
    more = [
        len(hypothesis.split()) - len(reference.split())
        for reference, hypothesis in zip(references, hypotheses, strict=True)
    ]
    buckets = np.searchsorted(_LENGTH_DIFFERENCE_EDGES, more, side="right")
    return _buckets(buckets, LENGTH_DIFFERENCE_BUCKETS)


def bucket_by_label(labels: Sequence[str]) -> list[SentenceBucket]:
    """Put sentences into buckets by label (a domain, say), in alphabetical order of the labels."""
    names = sorted(set(labels))
    index = {name: bucket for bucket, name in enumerate(names)}
    return _buckets(np.array([index[label] for label in labels], dtype=np.int64), names)


def _buckets(bucket_of: NDArray[np.int64], labels: Sequence[str]) -> list[SentenceBucket]:
    return [
        SentenceBucket(label, np.flatnonzero(bucket_of == bucket))
        for bucket, label in enumerate(labels)
    ]


def most_readable(lines: Sequence[str]) -> int:
    """Return the number of the longest sentence of at most 20 words, else of the shortest."""
    words = [len(line.split()) for line in lines]
    effort = [
        (count > READABLE_WORDS, count if count > READABLE_WORDS else -count) for count in words
    ]
    return min(range(len(words)), key=effort.__getitem__)


def most_different(scores: ArrayLike, identities: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return sentence numbers from 0, largest score difference of best and worst system first.

    ``scores`` (systems, sentences) has a score from each system for each sentence. Of sentences
    with equal ``identities`` (their source, reference and outputs, say) only the first is kept.
    Equal differences stay in the order of the sentences.

    Raises ``ValueError`` for no system, or for unequal numbers of identities and sentences.
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
