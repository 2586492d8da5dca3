"""Batches of sentences of any length."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from datamodules.batching.sampler import TokenBatchSampler


class MixedBatchSampler(TokenBatchSampler):
    """Sampler of batches of sentences in random order, whatever their lengths.

    Half of the positions of such batches are padding. But an update then learns from sentences of
    all lengths, as the batches of JoeyNMT do. Every epoch has as many batches as epoch 0: an epoch
    that would have more leaves out its last few sentences; an epoch that would have fewer divides
    its largest batches.
    """

    def _batches(self, pool: int) -> list[NDArray[np.int64]]:
        wanted, _ = self._sizes[pool]
        batches = self._cut(pool, self.epoch)[:wanted]
        while len(batches) < wanted:
            largest = batches.pop(int(np.argmax([len(rows) for rows in batches])))
            batches += np.array_split(largest, 2)
        return batches

    def _cut(self, pool: int, epoch: int) -> list[NDArray[np.int64]]:
        """Return a pool's pairs in random order, each batch with as many as ``max_tokens`` hold."""
        order = self._random(pool, epoch).permutation(self._rows(pool))
        cuts, first, longest = [], 0, 0
        for row, length in enumerate((np.maximum(*self._lengths(order)) + 1).tolist()):
            longest = max(longest, length)
            if (row + 1 - first) * longest > self._max_tokens:
                cuts.append(row)
                first, longest = row, length
        return np.split(order, cuts)

    @cached_property
    def _sizes(self) -> list[tuple[int, int]]:
        """For each pool: the batches of epoch 0, and the sentences of the largest."""
        first = [self._cut(pool, epoch=0) for pool in self._pools]
        return [(len(batches), max(map(len, batches))) for batches in first]
