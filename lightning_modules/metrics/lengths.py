"""Length buckets of sentences, and trends of a score over length."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.metric import Array, ReferenceText

LengthUnit = Literal["source_words", "reference_words", "source_tokens", "reference_tokens"]
"""Words and tokens of the first reference or of the source, as ``WordRule`` cuts them."""
THIN = 30  # a bucket with fewer sentences is marked, and neither tested nor part of a trend
SHARE_OF_BEST = 0.8  # share of the best score below which `falls_below` sees a fall


@dataclass(frozen=True)
class Bounds:
    """Lengths from ``low`` to ``high``, both included; ``high`` is None beyond the last edge."""

    low: int
    high: int | None

    @property
    def label(self) -> str:
        """The bounds as text for readers: ``11–20``, ``7``, or ``61+``."""
        if self.high is None:
            return f"{self.low}+"
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class Bucket:
    """The sentences of a test set whose lengths are within ``bounds``."""

    bounds: Bounds
    index: NDArray[np.int64]  # sentence numbers in the test set, ascending
    mean_length: float | None  # mean length of the sentences; None without sentences

    @property
    def thin(self) -> bool:
        """Whether the bucket has too few sentences to rely on."""
        return len(self.index) < THIN


def sentence_lengths(text: ReferenceText, unit: LengthUnit) -> NDArray[np.int64]:
    """Return each sentence's length. Raises ``ValueError`` if ``unit`` needs missing sources."""
    side, _, kind = unit.partition("_")
    lines = text.references if side == "reference" else text.sources
    if lines is None:
        raise ValueError(f"there are no source sentences to count {unit.replace('_', ' ')} of")
    rule = text.rules.target if side == "reference" else text.rules.source
    cut = rule.tokens if kind == "tokens" else rule.words
    return np.array([len(cut(line)) for line in lines], np.int64)


def length_buckets(lengths: NDArray[np.int64], edges: Sequence[int]) -> list[Bucket]:
    """Put every sentence into exactly one bucket, the bucket of shortest sentences first.

    ``edges`` are inclusive upper bounds. An empty line goes into the first bucket. Each edge gives
    a bucket, even without sentences, so that test sets can be compared. The open bucket beyond the
    last edge exists only if it has sentences.

    Raises ``ValueError`` for edges that are not ascending positive integers.
    """
    edges = list(edges)
    check_edges(edges)
    number = np.searchsorted(edges, lengths)
    lows, highs = [1, *(edge + 1 for edge in edges)], [*edges, None]
    buckets = [
        _bucket(Bounds(low, high), np.flatnonzero(number == place), lengths)
        for place, (low, high) in enumerate(zip(lows, highs, strict=True))
    ]
    return buckets if len(buckets[-1].index) else buckets[:-1]


def _bucket(bounds: Bounds, index: NDArray[np.int64], lengths: NDArray[np.int64]) -> Bucket:
    return Bucket(bounds, index, float(lengths[index].mean()) if len(index) else None)


def equal_edges(lengths: Sequence[int], count: int) -> list[int]:
    """Return the edges of ``count`` buckets with about equally many sentences each.

    Sentences of equal length stay together, so repeated lengths may give fewer buckets.
    """
    ordered = np.sort(np.maximum(lengths, 1))
    last = np.ceil(np.arange(1, count + 1) * len(ordered) / count).astype(int) - 1
    return sorted({int(edge) for edge in ordered[last]})


def merged_edges(
    lengths: Sequence[NDArray[np.int64]], edges: Sequence[int], least: int
) -> list[int]:
    """Return those ``edges`` between which every test set has at least ``least`` sentences.

    ``lengths`` are the sentence lengths of each test set. From the shortest sentences on, a bucket
    takes in the next one until it has enough; the last takes in the rest. A text with too few
    sentences has one bucket. The last bucket ends where the bucket of the longest sentence does.
    """
    longest = max((int(each.max()) for each in lengths if len(each)), default=1)
    inner = [edge for edge in edges if edge < longest]
    end = next((edge for edge in edges if edge >= longest), None)
    kept: list[int] = []
    for edge in inner:
        shorter = [((each <= edge) & (each > (kept or [-1])[-1])).sum() for each in lengths]
        longer = [(each > edge).sum() for each in lengths]
        if min(*shorter, *longer) >= least:
            kept.append(edge)
    return kept + ([] if end is None else [end]) or [longest]


def check_edges(edges: Sequence[int]) -> None:
    """Raise ``ValueError`` unless ``edges`` are one or more ascending positive integers."""
    positive = all(isinstance(edge, int) and edge > 0 for edge in edges)
    if not edges or not positive or any(a >= b for a, b in pairwise(edges)):
        raise ValueError(f"length edges must be ascending positive integers, not {list(edges)}")


def slope_per_ten(buckets: Sequence[Bucket], scores: Array) -> Array:
    """Return the rise of a score for every ten more words: ``(buckets, …) -> (…)``.

    The rise is the slope of the least-squares line through the buckets' scores at their mean
    lengths, each bucket weighted by its number of sentences. NaN for fewer than two buckets.
    """
    if len(buckets) < 2:
        return np.full(scores.shape[1:], np.nan)
    lengths = np.array([bucket.mean_length for bucket in buckets])
    weights = np.array([len(bucket.index) for bucket in buckets], np.float64)
    weights /= weights.sum()
    centred = weights * (lengths - weights @ lengths)
    return 10 * np.tensordot(centred, scores, axes=1) / (centred @ lengths)


def falls_below(buckets: Sequence[Bucket], scores: Sequence[float]) -> float | None:
    """Return the length at which a score falls below 80% of its best; None if it does not.

    Straight lines join the buckets' scores at their mean lengths. Only the last fall counts: after
    it, the score stays below 80% to the end of the curve.
    """
    limit = SHARE_OF_BEST * max(scores, default=0.0)
    below = [score < limit for score in scores]
    if not below or not below[-1]:
        return None
    first = len(below) - below[::-1].index(False)
    lengths = [bucket.mean_length for bucket in buckets[first - 1 : first + 1]]
    return float(np.interp(limit, [scores[first], scores[first - 1]], lengths[::-1]))  # type: ignore[arg-type]
