"""BPE dropout: sentences of a training batch, cut into other tokens in every epoch.

Provilkov, Emelianenko and Voita 2020, "BPE-Dropout: Simple and Effective Subword Regularization",
arXiv 1910.13267.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.batching.batches import EncodedPairs, Sequences
from datamodules.ragged import ranges, sums
from datamodules.tokenization.merging import Merging, draws

AT_ONCE = 2**16
"""Sentences whose characters are counted at once, so that memory stays bounded."""


class Spelled(NamedTuple):
    """The words of one side of the training text, and how each word is spelled."""

    words: Sequences
    """Word numbers of each sentence."""
    characters: Sequences
    """Tokens of each word before any merge."""


class BpeDropout:
    """Cuts training sentences into tokens, each merge left out with some probability.

    Every draw depends on the seed, the epoch, the number of the sentence, its side, the position of
    the word and that of the merge alone: a sentence has the same tokens in any batch, on any rank
    and after an interruption. Equal words of a sentence are cut independently.
    """

    def __init__(
        self,
        sides: tuple[Spelled, Spelled],
        mergings: tuple[Merging, Merging],
        left_out: float,
        seed: int,
    ) -> None:
        """Store the source and target text, their merges, and the probability, 0 ≤ p < 1."""
        self._sides = sides
        self._mergings = mergings
        self._left_out = left_out
        self._seed = seed

    def cut(self, rows: NDArray[np.int64], epoch: int) -> EncodedPairs:
        """Return the pairs of ``rows`` as cut in an epoch; their ids are ``rows``."""
        src, tgt = (
            self._cut(number, rows, _keys(rows, self._seed, epoch, number)) for number in (0, 1)
        )
        return EncodedPairs(rows, src, tgt)

    def longest(self) -> EncodedPairs:
        """Return all pairs in characters, the most tokens that they can have; lengths alone."""
        src, tgt = (
            Sequences(side.characters.tokens, side.words.starts, _characters_of_sentences(side))
            for side in self._sides
        )
        return EncodedPairs(None, src, tgt)

    def _cut(self, side: int, rows: NDArray[np.int64], keys: NDArray[np.uint64]) -> Sequences:
        words, characters = self._sides[side]
        sentences = words.select(rows)
        spelled = characters.select(sentences.flat())
        positions = ranges(np.zeros_like(rows), sentences.lengths)
        keys = draws(np.repeat(keys, sentences.lengths), positions)
        merging = self._mergings[side]
        tokens, lengths = merging.apply(spelled.flat(), spelled.lengths, keys, self._left_out)
        return Sequences.joined(tokens, sums(lengths, sentences.lengths))


def _keys(rows: NDArray[np.int64], seed: int, epoch: int, side: int) -> NDArray[np.uint64]:
    """Return the random number of each sentence ``(rows,)`` that decides its draws."""
    keys = np.zeros(1, np.uint64)
    for number in (seed, epoch, side, rows):
        keys = draws(keys, np.atleast_1d(number))
    return keys


def _characters_of_sentences(side: Spelled) -> NDArray[np.int64]:
    """Return the number of characters of each sentence, with one marker for each word."""
    every = np.arange(len(side.words.lengths))
    counts = [np.zeros(0, np.int64)]
    for first in range(0, len(every), AT_ONCE):
        sentences = side.words.select(every[first : first + AT_ONCE])
        characters = side.characters.lengths.take(sentences.flat()).astype(np.int64)
        counts.append(sums(characters, sentences.lengths))
    return np.concatenate(counts)
