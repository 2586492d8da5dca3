"""Encode many lines: every word is cut into tokens once, however often it occurs."""

from collections.abc import Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.tokenization import Tokenizer

MOST_WORDS = 1_000_000
"""Different words that are remembered, so that memory stays bounded."""
Ragged = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Values of several sequences in one array, and the length of each sequence."""


class Encoded(NamedTuple):
    """Lines as token numbers, and the words that the lines have."""

    tokens: NDArray[np.int64]
    """Tokens of all lines in one array."""
    lengths: NDArray[np.int64]
    """Number of tokens of each line."""
    words: NDArray[np.int64]
    """Number of whitespace-separated words of each line."""
    frequencies: dict[str, int]
    """Frequency of each word."""


class LineEncoder:
    """Lines to token numbers, equal to ``tokenizer.encode`` and many times faster.

    The tokens of a line are the tokens of its words (see ``Tokenizer``): a word has the same tokens
    in every line.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._forget()

    def encode(self, lines: Sequence[str]) -> Ragged:
        """Return the tokens of all lines and the number of tokens of each line."""
        tokens, lengths, _, _ = self._encode(lines)
        return tokens, lengths

    def encode_and_count(self, lines: Sequence[str]) -> Encoded:
        """Return also how many words each line has, and the frequency of each word."""
        tokens, lengths, words_of_line, numbers = self._encode(lines)
        frequencies = np.bincount(numbers, minlength=len(self._numbers))
        found = np.flatnonzero(frequencies)
        words = list(self._numbers)
        counted = {words[n]: int(frequencies[n]) for n in found.tolist()}
        return Encoded(tokens, lengths, words_of_line, counted)

    def _encode(self, lines: Sequence[str]) -> tuple[*Ragged, NDArray[np.int64], NDArray[np.int64]]:
        """Return tokens and lengths, the number of words of each line, and the words' numbers."""
        words = list(map(str.split, lines))
        words_of_line = np.fromiter(map(len, words), np.int64, len(words))
        flat = list(chain.from_iterable(words))
        self._learn(flat)
        numbers = np.fromiter(map(self._numbers.__getitem__, flat), np.int64, len(flat))
        lengths = self._lengths[numbers]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        last = np.cumsum(words_of_line)
        tokens = self._tokens[_ranges(self._starts[numbers], lengths)]
        return tokens, ends[last] - ends[last - words_of_line], words_of_line, numbers

    def _forget(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tokens, self._lengths, self._starts = (np.zeros(0, np.int64) for _ in range(3))

    def _learn(self, words: Sequence[str]) -> None:
        if len(self._numbers) > MOST_WORDS:
            self._forget()
        new = list(set(words).difference(self._numbers))
        encoded = self._tokenizer.encode(new)
        self._numbers.update(zip(new, count(len(self._numbers)), strict=False))
        lengths = np.fromiter(map(len, encoded), np.int64, len(new))
        tokens = np.fromiter(chain.from_iterable(encoded), np.int64, lengths.sum())
        self._tokens = np.concatenate((self._tokens, tokens))
        self._lengths = np.concatenate((self._lengths, lengths))
        self._starts = np.cumsum(self._lengths) - self._lengths


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``starts[i], starts[i] + 1, …``, ``lengths[i]`` numbers for each *i*."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
