"""The statistics of a prepared corpus, as its store and the results of runs record them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from datamodules.cleaning import StepCount
from datamodules.corpus import ParallelText, examples_of

MOST_BINS = 20
STEPS = (1, 2, 5)  # width of a bin: one of these, times a power of ten
Counts = NDArray[np.int64]  # number of sentences of each length, from 0 to the longest
SOME, MANY = 0.01, 0.05  # least shares of the lines for a warning


class _Record(BaseModel, extra="forbid"):
    """A part of the statistics; an unknown field is an error."""


class Lengths(_Record):
    """Lengths of the sentences of one side of a split."""

    mean: float
    median: int  # least length that half of the sentences do not exceed
    percentile_95: int  # least length that 95% of the sentences do not exceed
    longest: int


class SideStatistics(_Record):
    """The text of one side of a split."""

    words: int  # whitespace-separated; in languages without spaces about so many, by the letters
    types: int  # different words
    tokens: int  # tokens of the vocabulary, without EOS
    unknown: int  # tokens that stand for what the vocabulary lacks
    in_words: Lengths
    in_tokens: Lengths  # lengths in tokens, without EOS
    histogram: list[int]  # number of sentences in each of ``CorpusStatistics.bins``

    @property
    def unknown_share(self) -> float:
        """Share of unknown tokens, from 0 to 1."""
        return self.unknown / max(1, self.tokens)


class CorpusStatistics(_Record):
    """What the preparation of a corpus read, did and left."""

    pairs_read: int  # training pairs that the corpus gave, before cleaning
    left_out: dict[str, dict[str, int]]  # pairs left out of val and test, by split and reason
    cleaning: list[StepCount]  # what each limit and step did to the training text
    seconds: dict[str, float]  # seconds of each stage; after an interruption, of the last process
    leaked: int  # test pairs that are training pairs too, after cleaning
    bins: list[int]  # least words of each bin of the histograms; the last bin is open
    splits: dict[str, dict[str, SideStatistics]]  # by split and side

    @property
    def pairs_per_second(self) -> float:
        """Training pairs that the whole preparation read in a second."""
        return self.pairs_read / max(1e-9, sum(self.seconds.values()))


class SideCounts(NamedTuple):
    """Counts of the lines of one side of a text."""

    in_words: Counts
    in_tokens: Counts  # lengths without EOS
    unknown: int  # unknown tokens
    types: int  # different words


def side_statistics(counts: SideCounts, bins: list[int]) -> SideStatistics:
    """Return the statistics of one side."""
    lengths = np.arange(len(counts.in_words))
    # An empty line has no bin of its own.
    places = (np.searchsorted(bins, lengths, side="right") - 1).clip(min=0)
    return SideStatistics(
        words=_total(counts.in_words),
        types=counts.types,
        tokens=_total(counts.in_tokens),
        unknown=counts.unknown,
        in_words=_lengths(counts.in_words),
        in_tokens=_lengths(counts.in_tokens),
        histogram=np.bincount(places, counts.in_words, len(bins)).astype(int).tolist(),
    )


def bins_of(counts: Iterable[SideCounts]) -> list[int]:
    """Return the least length of each bin, at most ``MOST_BINS``, for all sides of a corpus.

    The bins are equally wide and hold 99% of the sentences of each side; the last bin is open.
    """
    longest = max([1, *(_quantile(side.in_words, 99) for side in counts)])
    widths = (step * 10**scale for scale in count() for step in STEPS)
    width = next(width for width in widths if width * MOST_BINS >= longest)
    return list(range(1, longest + 1, width))


def _lengths(counts: Counts) -> Lengths:
    return Lengths(
        mean=float(_total(counts)) / max(1, int(counts.sum())),
        median=_quantile(counts, 50),
        percentile_95=_quantile(counts, 95),
        longest=max(0, len(counts) - 1),
    )


def _total(counts: Counts) -> int:
    return int(np.arange(len(counts)) @ counts)


def _quantile(counts: Counts, percent: int) -> int:
    """Return the least length that ``percent`` of the sentences do not exceed; 0 without any."""
    needed = -(-percent * int(counts.sum()) // 100)
    return int(np.searchsorted(np.cumsum(counts), needed))


class Suspicion(NamedTuple):
    """Lines that have something in common that they should not have."""

    what: str
    lines: int
    of: int  # number of all lines
    examples: list[str]

    def __str__(self) -> str:
        """Return one line: what, how many, and examples."""
        shown = "; ".join(f"“{example}”" for example in self.examples)
        return f"{self.lines:,} of {self.of:,} {self.what}: {shown}"


def suspicion(what: str, lines: Sequence[str], of: int, share: float) -> Iterator[Suspicion]:
    """Yield a suspicion if there are lines, and at least a ``share`` of all."""
    if lines and len(lines) >= share * of:
        yield Suspicion(what, len(lines), of, examples_of(lines))


def suspicions_of_corpus(
    copies: Suspicion, leaked: Sequence[tuple[str, str]], test: ParallelText
) -> list[Suspicion]:
    """Return what looks wrong: test pairs in the training text, targets equal to sources.

    ``copies`` are the training pairs whose target equals the source; ``leaked`` the test pairs that
    are training pairs.
    """
    seen = [source for source, _ in leaked]
    same = [
        source for source, target in zip(test.source, test.target, strict=True) if source == target
    ]
    return [
        *suspicion("test pairs are training pairs too", seen, len(test), SOME),
        *([copies] if copies.lines and copies.lines >= MANY * copies.of else []),
        *suspicion("test sources equal their reference", same, len(test), MANY),
    ]
