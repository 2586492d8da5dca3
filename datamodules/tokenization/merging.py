"""BPE merges for many words at once, some of them left out: BPE dropout.

Provilkov, Emelianenko and Voita 2020, "BPE-Dropout: Simple and Effective Subword Regularization",
arXiv 1910.13267, algorithm 1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datamodules.ragged import Integers, Numbers

Keys = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Merging:
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

    def apply(
        self, symbols: Numbers, lengths: Integers, keys: Keys, left_out: float
    ) -> tuple[Numbers, Numbers]:
        """Cut words into tokens; return the tokens of all words, and how many each word has.

        In each round, every possible merge of a word is left out with probability ``left_out``, and
        the best of the others, the first of equals, is made. A word without one is finished.

        Args:
            symbols: characters of all words, one word after the other, ``(symbols,)``.
            lengths: number of characters of each word, ``(words,)``.
            keys: the random number of each word that decides all its draws, ``(words,)``.
            left_out: share of the merges that are left out, 0 ≤ p < 1.
        """
        tokens = symbols.copy()
        stay = np.ones(len(tokens), np.bool_)
        bound = np.uint64(left_out * 2.0**64)
        words = np.repeat(np.arange(len(lengths)), lengths)
        places = np.arange(len(tokens))  # of the tokens of unfinished words
        turn = 0
        while True:
            ranks, firsts = self._possible(tokens[places], words[places])
            word = words[places[firsts]]
            drawn = draws(keys[word], turn << 32 | _positions(words[places])[firsts])
            kept = drawn >= bound
            ranks, firsts, word = ranks[kept], firsts[kept], word[kept]
            if not len(word):
                return tokens[stay], np.bincount(words[stay], minlength=len(lengths))
            best = np.minimum.reduceat(ranks << 32 | firsts, np.flatnonzero(_begins(word)))
            first = best & 0xFFFFFFFF
            tokens[places[first]] = self._results[best >> 32]
            stay[places[first + 1]] = False
            unfinished = np.zeros(len(lengths), np.bool_)
            unfinished[words[places[first]]] = True
            places = places[stay[places] & unfinished[words[places]]]
            turn += 1

    def _possible(self, tokens: Numbers, words: Numbers) -> tuple[Numbers, Numbers]:
        """Return the rank of each possible merge, and the index of its left token."""
        pairs = tokens[:-1] << 32 | tokens[1:]
        found = np.searchsorted(self._pairs, pairs)
        firsts = np.flatnonzero((self._pairs[found] == pairs) & (words[:-1] == words[1:]))
        return self._order[found[firsts]], firsts


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
    """Return where another word begins."""
    return np.concatenate(([True], words[1:] != words[:-1]))


def _positions(words: Numbers) -> Numbers:
    """Return the position of each token in its word, from 0."""
    places = np.arange(len(words))
    return places - np.maximum.accumulate(np.where(_begins(words), places, 0))
