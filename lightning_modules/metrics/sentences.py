"""Sentences by score or label, an easily read sentence, and those on which systems differ most.

A bucket is an array of sentence numbers, so that any statistic of sentences can be summed over it.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightning_modules.metrics.metric import check_aligned
from lightning_modules.metrics.words import WordRule

SCORE_BUCKETS = (*(f"{low} to < {low + 10}" for low in range(0, 90, 10)), "90 to 100")
READABLE_WORDS = 20
PARTS = 10  # number of sentences that represent all lengths
_DIGITS = 9  # decimals of a rounded score: 100 may be computed as 100.00000000000004


def bucket_by_score(scores: ArrayLike) -> list[NDArray[np.int64]]:
    """Return the sentences in each of ``SCORE_BUCKETS``, ascending; a bucket may be empty.

    Raises ``ValueError`` for a score that is not between 0 and 100.
    """
    rounded = np.round(np.asarray(scores, dtype=np.float64), _DIGITS)
    if (wrong := np.flatnonzero(~((rounded >= 0) & (rounded <= 100)))).size:
        number = int(wrong[0])
        raise ValueError(f"sentence {number + 1}: score {rounded[number]} is not from 0 to 100")
    bucket = np.searchsorted(range(10, 100, 10), rounded, side="right")
    return [np.flatnonzero(bucket == place) for place in range(len(SCORE_BUCKETS))]


def bucket_by_label(labels: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the sentences of each label (a domain, say), in alphabetical order of the labels."""
    given = np.array(labels)
    return {name: np.flatnonzero(given == name) for name in sorted(set(labels))}


def most_readable(lines: Sequence[str], rule: WordRule, most: int = READABLE_WORDS) -> int:
    """Return the number of the longest sentence of at most ``most`` words, else of the shortest."""
    words = [len(rule.words(line)) for line in lines]
    effort = [(count > most, count if count > most else -count) for count in words]
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


def typical_by_length(lengths: ArrayLike, scores: ArrayLike, parts: int = PARTS) -> list[int]:
    """Return a sentence number for each of ``parts`` equal parts by length, the shortest first.

    ``lengths`` and ``scores`` are ``(sentences,)`` each. A part is represented by its sentence with
    the median score, the lower of two; fewer sentences than parts are all returned.
    """
    ranked = np.argsort(np.asarray(lengths), kind="stable")
    table = np.round(np.asarray(scores, dtype=np.float64), _DIGITS)
    typical: list[int] = []
    for part in np.array_split(ranked, min(parts, len(ranked)) or 1):
        by_score = part[np.argsort(table[part], kind="stable")]
        typical += by_score[(len(part) - 1) // 2 :][:1].tolist()
    return typical
