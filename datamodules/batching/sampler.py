"""The order of training: epochs of batches under a token budget, of bounded memory."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Sampler
from typing_extensions import override

from datamodules.batching.batches import Batch, EncodedPairs, sources_alone
from datamodules.errors import UserError

LONG = 500  # tokens of a sentence from which its square bounds a batch of decoding
POOL = 2**20  # pairs that are ordered at once, so that the memory for the order stays bounded
DECODE_TOKENS, TOKENS_PER_GIB = 6_000, 500
"""Most tokens of a batch of decoding on a CPU, and for each GiB of a GPU's memory. By arithmetic, a
third of the memory then holds the keys and values of a beam of 5 of ``transformer_big`` in float32,
with hypotheses twice as long as their sources."""
GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples, modulo 1, lie most evenly (Weyl 1916)


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
        """Raise ``UserError`` that names ``option`` if a sentence is longer than ``max_tokens``.

        Without ``shuffle``, every epoch has the same order.
        """
        self.epoch = 0
        self._skipped = 0
        self._pairs = pairs
        self._max_tokens = max_tokens
        self._seed = seed
        self._shuffle = shuffle
        longest = int(pairs.longest.max(initial=0))
        if longest > max_tokens:
            longer = np.count_nonzero(pairs.longest > max_tokens)
            number = int(pairs.ids[np.argmax(pairs.longest)]) + 1
            raise UserError(
                f"{option}={max_tokens} is smaller than the longest sentence: {longer} of "
                f"{len(pairs)} are longer, up to {longest} tokens (sentence {number} of those "
                f"kept); set {option} to {longest} or more"
            )

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
        # The generator of pool 0 is the same as that of (seed, epoch).
        return np.random.default_rng((self._seed, epoch, pool))

    @cached_property
    def _pools(self) -> range:
        most = POOL if self._shuffle else max(1, len(self._pairs))
        return range(math.ceil(len(self._pairs) / most))

    def _rows(self, pool: int) -> NDArray[np.int64]:
        """Return the pairs of a pool, which has its share of every part of the corpus.

        A stride instead of a permutation, which takes 800 MB for 100 million pairs. It has no
        factor in common with the number of pairs, so that every pair comes once.
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
    padded = np.diff(cuts) * np.maximum.reduceat(lengths, cuts[:-1])
    return 1 - float(lengths.sum() / padded.sum())


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
            most = self._most(length)
            starts = range(first, end, most)
            cuts += starts
            first += most * len(starts)
        return [*cuts, end]

    def _most(self, length: int) -> int:
        """Return how many sentences a batch has whose longest has ``length`` tokens."""
        return self._max_tokens // length


class DecodingBatchSampler(LengthBatchSampler):
    """Batches of validation, test and translation, the longest first.

    Attention compares each position with each other, so that the cost of a sentence grows with the
    square of its length: a batch also costs at most as much as one of sentences of ``LONG`` tokens.
    """

    def __init__(
        self, pairs: EncodedPairs, max_tokens: int | None, device: torch.device | None = None
    ) -> None:
        """Take as many tokens as ``device`` has room for if ``max_tokens`` is None."""
        most = decode_tokens(max_tokens, device)
        super().__init__(pairs, most, option="batching.decode_max_tokens")

    @override
    def _most(self, length: int) -> int:
        return max(1, min(super()._most(length), self._max_tokens * LONG // length**2))


def decode_tokens(setting: int | None, device: torch.device | None = None) -> int:
    """Return ``batching.decode_max_tokens``; for None, by the memory of a CUDA device."""
    if setting is not None:
        return setting
    if device is None or device.type != "cuda":
        return DECODE_TOKENS
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(DECODE_TOKENS, TOKENS_PER_GIB * round(memory / 2**30))


def _longest_first(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the order of falling lengths; equal lengths keep their order."""
    missing = lengths.max(initial=0) - lengths
    # Numbers of up to 16 bits are sorted in linear time.
    return np.argsort(missing.astype(np.min_scalar_type(missing.max(initial=0))), kind="stable")


def batches_of(
    sequences: Sequence[Sequence[int]], decode_max_tokens: int | None
) -> Iterator[Batch]:
    """Yield batches of pairs with an empty target side, the longest first.

    ``ids`` are the indices in ``sequences``. Raises ``UserError`` as ``DecodingBatchSampler`` does.
    """
    pairs = sources_alone(sequences)
    for rows in DecodingBatchSampler(pairs, decode_max_tokens):
        yield pairs[rows]


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
