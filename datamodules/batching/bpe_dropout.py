"""BPE dropout: sentences of a training batch, cut into other tokens in every epoch.

Provilkov, Emelianenko and Voita 2020, "BPE-Dropout: Simple and Effective Subword Regularization",
arXiv 1910.13267, algorithm 1, for many words at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.batching.batches import EncodedPairs
from datamodules.sequences import AT_ONCE, Sequences, ranges, sums
from datamodules.tokenization import Bpe

Numbers = NDArray[np.int64]
Keys = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class SpelledText(NamedTuple):
    """The words of one side of the training text, and how each word is spelled."""

    words: Sequences  # word numbers of each sentence
    characters: Sequences  # tokens of each word before any merge


class Merges:
    """The merges of a vocabulary, by number."""

    def __init__(self, merges: Sequence[tuple[int, int, int]]) -> None:
        """Store each merge as the numbers of left token, right token and their result.

        The first merge is the first that was learned, which goes first in every word.
        """
        left, right, results = np.array(merges, np.int64).reshape(-1, 3).T
        pairs = left << 32 | right
        self._order = np.argsort(pairs)
        # The last entry is no pair of tokens, so that every search ends inside.
        self._pairs = np.append(pairs[self._order], np.iinfo(np.int64).max)
        self._results = results

    @classmethod
    def of(cls, tokenizer: Bpe) -> "Merges":
        """Return the merges of a vocabulary."""
        number = tokenizer.numbers.__getitem__
        merges = tokenizer.merges
        return cls([(number(left), number(right), number(left + right)) for left, right in merges])

    def apply(self, characters: Sequences, keys: Keys, left_out: float) -> tuple[Numbers, Numbers]:
        """Cut words into tokens; return the tokens of all words, and how many each word has.

        In each round, every possible merge of a word is left out with probability ``left_out``, and
        the best of the others, the first of equals, is made. A word without one is finished.

        ``keys (words,)`` are random numbers: that of a word decides all its draws.
        """
        tokens, lengths = characters.flat(), characters.lengths
        stay = np.ones(len(tokens), np.bool_)
        bound = np.uint64(left_out * 2.0**64)
        words = np.repeat(np.arange(len(lengths)), lengths)
        places = np.arange(len(tokens))  # of the tokens of unfinished words
        turn = 0
        while True:
            merges, firsts = self._possible(tokens[places], words[places])
            word = words[places[firsts]]
            drawn = draws(keys[word], turn << 32 | _positions(words[places])[firsts])
            kept = drawn >= bound
            merges, firsts, word = merges[kept], firsts[kept], word[kept]
            if not len(word):
                return tokens[stay], np.bincount(words[stay], minlength=len(lengths))
            best = np.minimum.reduceat(merges << 32 | firsts, np.flatnonzero(_begins(word)))
            first = best & 0xFFFFFFFF
            tokens[places[first]] = self._results[best >> 32]
            stay[places[first + 1]] = False
            unfinished = np.zeros(len(lengths), np.bool_)
            unfinished[words[places[first]]] = True
            places = places[stay[places] & unfinished[words[places]]]
            turn += 1

    def _possible(self, tokens: Numbers, words: Numbers) -> tuple[Numbers, Numbers]:
        """Return the number of each possible merge, and the index of its left token."""
        pairs = tokens[:-1] << 32 | tokens[1:]
        found = np.searchsorted(self._pairs, pairs)
        firsts = np.flatnonzero((self._pairs[found] == pairs) & (words[:-1] == words[1:]))
        return self._order[found[firsts]], firsts


class BpeDropout:
    """Cuts training sentences into tokens, each merge left out with some probability.

    Every draw depends on the seed, the epoch, the number of the sentence, its side, the position of
    the word and that of the merge alone: a sentence has the same tokens in any batch, on any rank
    and after an interruption. Equal words of a sentence are cut independently.
    """

    def __init__(
        self,
        sides: tuple[SpelledText, SpelledText],
        merges: tuple[Merges, Merges],
        left_out: float,
        seed: int,
    ) -> None:
        """Store the source and target text, their merges, and the probability, 0 ≤ p < 1."""
        self._sides = sides
        self._merges = merges
        self._left_out = left_out
        self._seed = seed

    def cut(self, rows: Numbers, epoch: int) -> EncodedPairs:
        """Return the pairs of ``rows`` as cut in an epoch; their ids are ``rows``."""
        src, tgt = (self._cut(side, rows, epoch) for side in (0, 1))
        return EncodedPairs(rows, src, tgt)

    def longest(self) -> EncodedPairs:
        """Return all pairs in characters, the most tokens that they can have; lengths alone."""
        src, tgt = (
            Sequences(side.characters.tokens, side.words.starts, _characters_of_sentences(side))
            for side in self._sides
        )
        return EncodedPairs(None, src, tgt)

    def _cut(self, side: int, rows: Numbers, epoch: int) -> Sequences:
        keys = np.zeros(1, np.uint64)
        for number in (self._seed, epoch, side, rows):
            keys = draws(keys, np.atleast_1d(number))
        words, characters = self._sides[side]
        sentences = words.select(rows)
        positions = ranges(np.zeros_like(rows), sentences.lengths)
        keys = draws(np.repeat(keys, sentences.lengths), positions)
        spelled = characters.select(sentences.flat())
        tokens, lengths = self._merges[side].apply(spelled, keys, self._left_out)
        return Sequences.joined(tokens, sums(lengths, sentences.lengths))


def draws(keys: Keys, counters: Numbers) -> Keys:
    """Return a random number below 2⁶⁴ for each key and counter, always the same.

    The output function of SplitMix64: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom
    Number Generators".
    """
    mixed = keys + (counters.astype(np.uint64) + np.uint64(1)) * GOLDEN
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def _begins(words: Numbers) -> NDArray[np.bool_]:
    return np.concatenate(([True], words[1:] != words[:-1]))


def _positions(words: Numbers) -> Numbers:
    """Return the position of each token in its word, from 0."""
    places = np.arange(len(words))
    return places - np.maximum.accumulate(np.where(_begins(words), places, 0))


def _characters_of_sentences(side: SpelledText) -> Numbers:
    """Return the number of characters of each sentence, with one marker for each word."""
    every = np.arange(len(side.words.lengths))
    counts = [np.zeros(0, np.int64)]
    for first in range(0, len(every), AT_ONCE):
        sentences = side.words.select(every[first : first + AT_ONCE])
        characters = side.characters.lengths.take(sentences.flat()).astype(np.int64)
        counts.append(sums(characters, sentences.lengths))
    return np.concatenate(counts)
