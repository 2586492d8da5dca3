"""A phrase table learned from word alignments: the translation that needs no model.

A phrase pair is consistent with the links of a sentence pair if at least one link is inside, and no
link leads from inside to outside (Koehn, Och and Marcu 2003, "Statistical phrase-based
translation"). Of the target phrases that are consistent with a source phrase, the shortest counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.corpus import ParallelText

LONGEST = 4  # most words of a source phrase
LINKS = re.compile(r"\s*([0-9]{1,9}[-?][0-9]{1,9}(\s+|$))*")  # ``i-j`` sure, ``i?j`` possible

Numbers = NDArray[np.int64]


class _Spans(NamedTuple):
    """Source phrases of one length and their target phrases, in the order of the text."""

    source: Numbers  # first word of each source phrase, counted over all sentences
    target: Numbers  # first word of each target phrase, counted in the same way
    target_words: Numbers  # number of words of each target phrase


class PhraseTable(NamedTuple):
    """The most frequent target phrase of each source phrase of up to ``LONGEST`` words."""

    phrases: Mapping[str, str]

    @classmethod
    def of(cls, text: ParallelText) -> "PhraseTable":
        """Learn from all links of ``text``; of equally frequent phrases, the first is kept.

        Raises ``ValueError`` for a line of something else, or a link past its sentence pair, with
        the number of the line from 1.
        """
        source, target = " ".join(text.source).split(), " ".join(text.target).split()
        links = read_links(text)
        words = [_numbered(source), _numbered(target)]
        phrases: dict[str, str] = {}
        for length, spans in enumerate(_consistent_spans(text.source, links, len(target)), 1):
            lengths = np.full(len(spans.source), length)
            kept = _most_frequent(
                _phrases(words[0], spans.source, lengths),
                _phrases(words[1], spans.target, spans.target_words),
            )
            for first, start, size in zip(*(each[kept].tolist() for each in spans), strict=True):
                phrase = " ".join(source[first : first + length])
                phrases[phrase] = " ".join(target[start : start + size])
        return cls(phrases)

    def translate(self, line: str) -> str:
        """Translate from left to right by the longest known phrase; copy a word without any."""
        words = line.split()
        translated, place = [], 0
        while place < len(words):
            for length in range(LONGEST, 0, -1):  # a slice past the end is a shorter phrase
                phrase = " ".join(words[place : place + length])
                if phrase in self.phrases or length == 1:
                    break
            translated.append(self.phrases.get(phrase, phrase))
            place += length
        return " ".join(translated)


def read_links(text: ParallelText, first: int = 1) -> Numbers:
    """Return source and target word of every gold link, counted over all sentences ``(2, links)``.

    Raises ``ValueError`` for what is no link, or points past its sentence pair, with the number of
    the line, of which the first is ``first``.
    """
    lines = text.alignments or []
    for number, line in enumerate(lines, first):
        if not LINKS.fullmatch(line):
            wrong = next(link for link in line.split() if not LINKS.fullmatch(link))
            raise ValueError(f"line {number}: {wrong!r} is not a link like 0-0 or 1?2")
    numbers = re.sub("[-?]", " ", " ".join(lines)).split()
    links = np.array(numbers, np.int64).reshape(-1, 2).T
    sentence = np.repeat(np.arange(len(lines)), [len(line.split()) for line in lines])
    lengths = np.array([_lengths(text.source), _lengths(text.target)])
    if (past := np.flatnonzero((links >= lengths[:, sentence]).any(0))).size:
        link, number = "-".join(map(str, links[:, past[0]])), sentence[past[0]]
        raise ValueError(
            f"line {first + number}: {link} points past its sentence pair ({lengths[0, number]} "
            f"source and {lengths[1, number]} target words, counted from 0)"
        )
    before = np.cumsum(lengths, axis=1) - lengths
    return links + before[:, sentence]


def _lengths(lines: Sequence[str]) -> list[int]:
    return [len(line.split()) for line in lines]


def _numbered(words: Sequence[str]) -> Numbers:
    numbers = dict(zip(dict.fromkeys(words), count()))
    return np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))


def _consistent_spans(lines: Sequence[str], links: Numbers, target_words: int) -> Iterator[_Spans]:
    """Yield the consistent phrase pairs whose source phrases have 1, 2, … ``LONGEST`` words.

    All links of a source phrase end between its first and last linked target word. So the pair is
    consistent if as many links end there as start from the source phrase.
    """
    lengths = np.array(_lengths(lines), np.int64)
    ends = np.repeat(np.cumsum(lengths), lengths)  # end of the sentence of each source word
    first, last = np.full(len(ends), target_words), np.full(len(ends), -1)
    np.minimum.at(first, links[0], links[1])
    np.maximum.at(last, links[0], links[1])
    # Links before each word.
    starting, ending = (
        np.concatenate([[0], np.cumsum(np.bincount(side, minlength=words))])
        for side, words in zip(links, (len(ends), target_words), strict=True)
    )
    low, high = first, last
    for length in range(1, LONGEST + 1):
        starts = np.arange(len(ends) - length + 1)
        low = np.minimum(low[: len(starts)], first[length - 1 :])
        high = np.maximum(high[: len(starts)], last[length - 1 :])
        linked = (high >= 0) & (starts + length <= ends[: len(starts)])
        starts = starts[linked]
        begin, end = low[linked], high[linked] + 1
        consistent = ending[end] - ending[begin] == starting[starts + length] - starting[starts]
        yield _Spans(*(each[consistent] for each in (starts, begin, end - begin)))


def _phrases(words: Numbers, starts: Numbers, lengths: Numbers) -> Numbers:
    """Return a number for each phrase; equal phrases have equal numbers, from 0 without gaps."""
    numbers = np.zeros_like(lengths)  # of the words so far
    for place in range(lengths.max(initial=0)):
        longer = np.flatnonzero(lengths > place)
        pairs = numbers[longer] * (words.max() + 1) + words[starts[longer] + place]
        numbers[longer] = np.unique(pairs, return_inverse=True)[1]
    return np.unique(numbers * (lengths.max(initial=0) + 1) + lengths, return_inverse=True)[1]


def _most_frequent(source: Numbers, target: Numbers) -> Numbers:
    """Return for each source phrase a place of its most frequent target phrase."""
    pairs = source * (target.max(initial=0) + 1) + target
    _, places, counts = np.unique(pairs, return_index=True, return_counts=True)
    order = np.lexsort((places, -counts, source[places]))
    best = np.unique(source[places[order]], return_index=True)[1]
    return places[order[best]]
