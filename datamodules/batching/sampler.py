"""The order of training: epochs of batches under a token budget, of bounded memory."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from datamodules.batching.pairs import EncodedPairs
from datamodules.errors import UserError

POOL = 2**20
"""Pairs that are ordered at once, so that the memory for the order stays bounded."""
GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of this number, modulo 1, spread most evenly."""


class TokenBatchSampler(Sampler[NDArray[np.int64]]):
    """Base of samplers of batches with at most ``max_tokens`` tokens, padding included.

    The pairs are divided into pools of at most ``POOL``, each of which takes pairs from all over
    the corpus. A subclass divides the pairs of a pool into batches. The order depends only on the
    lengths, the seed and the epoch, never on global random state. Every epoch has the same number
    of batches.

    Use ``DataLoader(pairs, sampler=..., batch_size=None, collate_fn=as_built)``, which asks
    ``pairs`` for whole batches.
    """

    def __init__(
        self,
        pairs: EncodedPairs,
        max_tokens: int,
        seed: int = 0,
        shuffle: bool = False,
        option: str = "batching.max_tokens",
    ):
        """Store the settings; batches have at most ``max_tokens`` tokens, padding included.

        Without ``shuffle``, every epoch has the same order. Raises ``UserError`` that names
        ``option`` if a sentence is longer than ``max_tokens``.
        """
        self.epoch = 0
        self._skipped = 0
        self._pairs = pairs
        self._max_tokens = max_tokens
        self._seed = seed
        self._shuffle = shuffle
        _check(pairs, max_tokens, option)

    @abstractmethod
    def _batches(self, pool: int) -> list[NDArray[np.int64]]:
        """Return the batches of a pool in this epoch."""

    @cached_property
    @abstractmethod
    def _sizes(self) -> list[tuple[int, int]]:
        """For each pool, the same in every epoch: its batches, and the sentences of the largest."""

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which decides the order of the next pass."""
        self.epoch = epoch

    def skip(self, batches: int) -> None:
        """Skip the first ``batches`` batches of the next pass, which an earlier run has used."""
        self._skipped = batches

    def __len__(self) -> int:
        return sum(batches for batches, _ in self._sizes)

    @property
    def most_sentences(self) -> int:
        """Number of sentences of the batch with the most sentences."""
        return max((most for _, most in self._sizes), default=0)

    def padding(self) -> tuple[float, float]:
        """Return the share of padding on the source and on the target side, from 0 to 1.

        The batches are those of the first pool of the epoch: the whole epoch of a corpus of at most
        ``POOL`` pairs, else an even sample of the corpus. EOS is no padding.
        """
        if not len(self._pairs):
            return 0.0, 0.0
        batches = self._batches(0)
        cuts = np.cumsum([0, *map(len, batches)])
        shares = [_padding(side + 1, cuts) for side in self._lengths(np.concatenate(batches))]
        return shares[0], shares[1]

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        pools, skipped = list(self._pools), self._skipped
        self._skipped = 0
        if self._shuffle and len(pools) > 1:
            np.random.default_rng((self._seed, self.epoch, len(pools))).shuffle(pools)
        for pool in pools:
            batches, _ = self._sizes[pool]
            if skipped < batches:
                yield from self._batches(pool)[skipped:]
            skipped = max(0, skipped - batches)

    def _random(self, pool: int, epoch: int) -> np.random.Generator:
        """Return the random generator of a pool in an epoch."""
        # The generator of pool 0 is the same as that of (seed, epoch).
        return np.random.default_rng((self._seed, epoch, pool))

    @cached_property
    def _pools(self) -> range:
        most = POOL if self._shuffle else max(1, len(self._pairs))
        return range(math.ceil(len(self._pairs) / most))

    def _rows(self, pool: int) -> NDArray[np.int64]:
        """Return the pairs of a pool.

        Multiples of the stride, modulo the number of pairs, lie evenly in the corpus. So each pool
        has its share of every part of the corpus.
        """
        pairs = len(self._pairs)
        first, end = (pairs * number // len(self._pools) for number in (pool, pool + 1))
        stride = round(GOLDEN * pairs)
        while math.gcd(stride, pairs) > 1:
            stride += 1
        return (self._seed % pairs + stride * np.arange(first, end)) % pairs

    def _lengths(self, rows: NDArray[np.int64]) -> list[NDArray[np.integer]]:
        return [side.lengths[rows] for side in self._pairs.sides]


def _padding(lengths: NDArray[np.integer], cuts: NDArray[np.int64]) -> float:
    """Return the share of padding in batches that are cut at ``cuts``."""
    padded = np.diff(cuts) * np.maximum.reduceat(lengths, cuts[:-1])
    return 1 - float(lengths.sum() / padded.sum())


def _check(pairs: EncodedPairs, max_tokens: int, option: str) -> None:
    longest = max((int(side.lengths.max(initial=0)) for side in pairs.sides), default=0) + 1
    if len(pairs) and longest > max_tokens:
        longer = np.count_nonzero(pairs.longest > max_tokens)
        raise UserError(
            f"{option}={max_tokens} is smaller than the longest sentence: {longer} of {len(pairs)} "
            f"are longer, up to {longest} tokens; set {option} to {longest} or more"
        )
