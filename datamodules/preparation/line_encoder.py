"""Encode many lines: every word is cut into tokens once, however often it occurs."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.ragged import Ragged, flat, ranges, sums
from datamodules.tokenization import Tokenizer
from datamodules.words import words_of

MOST_WORDS = 1_000_000
"""Different words that are remembered, so that memory stays bounded."""


class Encoded(NamedTuple):
    """Lines as token numbers, and the words that the lines have."""

    tokens: Ragged
    """Tokens of all lines, and the number of tokens of each line."""
    words: Ragged
    """Numbers of the whitespace-separated words, and the number of words of each line."""
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
        return self._tokens_of(*self._words(lines))

    def encode_and_count(self, lines: Sequence[str]) -> Encoded:
        """Return also the words of all lines, and the frequency of each word.

        The numbers of words are their places among the frequencies, which are sorted by word.
        """
        numbers, words_of_line = self._words(lines)
        frequencies = np.bincount(numbers, minlength=len(self._numbers))
        words = list(self._numbers)
        found = sorted(np.flatnonzero(frequencies).tolist(), key=words.__getitem__)
        counted = {words[number]: int(frequencies[number]) for number in found}
        places = np.zeros(len(words), np.int64)
        places[found] = np.arange(len(found))
        tokens = self._tokens_of(numbers, words_of_line)
        return Encoded(tokens, (places[numbers], words_of_line), counted)

    def _words(self, lines: Sequence[str]) -> Ragged:
        """Return the number of each word of all lines, and the number of words of each line."""
        if len(self._numbers) > MOST_WORDS:
            self._forget()
        distinct, (places, words_of_line) = words_of(lines)
        known = map(self._numbers.__getitem__, distinct)
        numbers = np.fromiter(known, np.int64, len(distinct))
        self._cut_new_words()
        return numbers[places], words_of_line

    def _tokens_of(self, numbers: NDArray[np.int64], words_of_line: NDArray[np.int64]) -> Ragged:
        lengths = self._lengths[numbers]
        tokens = self._tokens[ranges(self._starts[numbers], lengths)]
        return tokens, sums(lengths, words_of_line)

    def _forget(self) -> None:
        # A word that is looked up for the first time gets the next number.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._tokens, self._lengths, self._starts = (np.zeros(0, np.int64) for _ in range(3))

    def _cut_new_words(self) -> None:
        new = list(islice(self._numbers, len(self._lengths), None))
        tokens, lengths = flat(self._tokenizer.encode(new))
        self._tokens = np.concatenate((self._tokens, tokens))
        self._lengths = np.concatenate((self._lengths, lengths))
        self._starts = np.cumsum(self._lengths) - self._lengths
