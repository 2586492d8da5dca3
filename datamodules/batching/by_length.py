"""Batches of sentences of similar length."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from datamodules.batching.pairs import Batch, sources_alone
from datamodules.batching.sampler import TokenBatchSampler


class LengthBatchSampler(TokenBatchSampler):
    """Sampler of batches with sentences of similar length; each epoch has every sentence once.

    Within a pool, pairs are sorted by the length of the longer side, then by the length difference
    (src − tgt), and cut into batches. The batches of a pool are then shuffled, and so are the
    pools. Without ``shuffle``, batches go from the longest to the shortest.

    In training, random noise of up to one token is added to the length difference, because
    otherwise the same sentences would be in the same batch in every epoch. The difference is sorted
    upwards for odd lengths of the longer side and downwards for even lengths, so that neighbours
    stay similar where the longer side changes. On multi30k, 97% of positions are then real; with
    random order among equal lengths of the longer side, 93%.
    """

    def _batches(self, pool: int) -> list[NDArray[np.int64]]:
        random = self._random(pool, self.epoch)
        batches = np.split(self._ordered(pool, random), self._cuts(pool)[1:-1])
        if self._shuffle:
            random.shuffle(batches)
        return batches

    def _ordered(self, pool: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Return the pairs of a pool, the longest first, in the order in which batches are cut."""
        rows = np.sort(self._rows(pool))
        src, tgt = (side.astype(np.int64) for side in self._lengths(rows))
        longest = np.maximum(src, tgt) + 1
        difference = np.where(longest % 2, 1, -1) * (src - tgt)
        if self._shuffle:
            difference = difference + random.uniform(-1, 1, len(rows))
        order = np.argsort(difference, kind="stable")
        return rows[order[_longest_first(longest[order])]]

    @cached_property
    def _sizes(self) -> list[tuple[int, int]]:
        """For each pool, the same in every epoch: its batches, and the sentences of the largest."""
        cuts = map(self._cuts, self._pools)
        return [(len(each) - 1, int(np.diff(each).max(initial=0))) for each in cuts]

    def _cuts(self, pool: int) -> list[int]:
        """Return the boundaries of the batches in a pool, whose longest pairs come first."""
        counts = np.bincount(np.maximum(*self._lengths(self._rows(pool))) + 1)
        cuts: list[int] = []
        first = end = 0
        for length in range(len(counts) - 1, 0, -1):
            # The batches whose longest pair has ``length`` tokens.
            end += int(counts[length])
            most = self._max_tokens // length
            starts = range(first, end, most)
            cuts += starts
            first += most * len(starts)
        return [*cuts, end]


def _longest_first(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the order of falling lengths; equal lengths keep their order."""
    missing = lengths.max(initial=0) - lengths
    # Numbers of up to 16 bits are sorted in linear time.
    return np.argsort(missing.astype(np.min_scalar_type(missing.max(initial=0))), kind="stable")


def batches_of(sequences: Sequence[Sequence[int]], decode_max_tokens: int) -> Iterator[Batch]:
    """Yield batches of pairs with an empty target side, the longest first.

    ``ids`` are the indices in ``sequences``. Raises ``UserError`` as ``LengthBatchSampler`` does.
    """
    pairs = sources_alone(sequences)
    for rows in LengthBatchSampler(pairs, decode_max_tokens, option="batching.decode_max_tokens"):
        yield pairs[rows]
