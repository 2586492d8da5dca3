"""Statistics from counts that add up over the parts of a text, so that memory stays bounded."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from datamodules.statistics.record import Lengths, SideStatistics
from datamodules.tokenization import UNK

MOST_BINS = 20
STEPS = (1, 2, 5)
"""A bin of a histogram has as many lengths as one of these numbers, times a power of ten."""
Counts = dict[int, int]
"""Number of sentences of each length."""


@dataclass(frozen=True)
class SideCounts:
    """Counts of the lines of one side of a text."""

    in_words: Counts = field(default_factory=dict)
    in_tokens: Counts = field(default_factory=dict)
    """Lengths without EOS."""
    unknown: int = 0
    """Unknown tokens."""

    @classmethod
    def of(
        cls, words: NDArray[np.integer], lengths: NDArray[np.integer], tokens: NDArray[np.integer]
    ) -> "SideCounts":
        """Count lines of so many ``words`` and of such ``lengths`` in tokens."""
        return cls(_counts(words), _counts(lengths), int(np.count_nonzero(tokens == UNK)))

    def __add__(self, other: "SideCounts") -> "SideCounts":
        return SideCounts(
            dict(Counter(self.in_words) + Counter(other.in_words)),
            dict(Counter(self.in_tokens) + Counter(other.in_tokens)),
            self.unknown + other.unknown,
        )


def side_statistics(counts: SideCounts, types: int, bins: list[int]) -> SideStatistics:
    """Return the statistics of one side with so many different words (``types``)."""
    lengths, sentences = _sorted(counts.in_words)
    places = np.searchsorted(bins, lengths, side="right") - 1
    # An empty line has no bin of its own.
    histogram = np.bincount(places.clip(min=0), weights=sentences, minlength=len(bins))
    return SideStatistics(
        words=int(lengths @ sentences),
        types=types,
        tokens=sum(length * count for length, count in counts.in_tokens.items()),
        unknown=counts.unknown,
        in_words=_lengths(counts.in_words),
        in_tokens=_lengths(counts.in_tokens),
        histogram=histogram.astype(int).tolist(),
    )


def bins_of(counts: Iterable[SideCounts]) -> list[int]:
    """Return the least length of each bin, at most ``MOST_BINS``, for all sides of a corpus.

    The bins are equally wide and hold 99% of the sentences of each side; the last bin is open.
    """
    found = [_quantile(side.in_words, 99) for side in counts]
    longest = max([1, *found])
    width = next(w for w in _widths() if w * MOST_BINS >= longest)
    return list(range(1, longest + 1, width))


def _widths() -> Iterable[int]:
    scale = 1
    while True:
        yield from (step * scale for step in STEPS)
        scale *= 10


def _counts(lengths: NDArray[np.integer]) -> Counts:
    values, counts = np.unique(lengths, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _lengths(counts: Counts) -> Lengths:
    lengths, sentences = _sorted(counts)
    return Lengths(
        mean=float(lengths @ sentences) / max(1, int(sentences.sum())),
        median=_quantile(counts, 50),
        percentile_95=_quantile(counts, 95),
        longest=int(lengths.max(initial=0)),
    )


def _quantile(counts: Counts, percent: int) -> int:
    """Return the least length that ``percent`` of the sentences do not exceed; 0 without any."""
    lengths, sentences = _sorted(counts)
    needed = -(-percent * int(sentences.sum()) // 100)
    place = np.searchsorted(np.cumsum(sentences), needed)
    return int(lengths[place]) if len(lengths) else 0


def _sorted(counts: Mapping[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lengths, rising, and the number of sentences of each length."""
    lengths = np.array(sorted(counts), np.int64)
    return lengths, np.array([counts[length] for length in lengths.tolist()], np.int64)
