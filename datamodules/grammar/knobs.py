"""The knobs of the grammar: what makes its sentences easy or hard."""

from collections import Counter
from itertools import accumulate

from pydantic.dataclasses import dataclass

from datamodules.grammar.drawing.draws import Pool, Random


@dataclass(frozen=True, config={"extra": "forbid"})
class Knobs:
    """Settings of ``data`` that decide what sentences are like; ``conf/settings.yaml`` has meanings
    and ranges, and ``conf/data/grammar.yaml`` the usual values."""

    vocabulary: int
    zipf: float
    longest: int
    short_share: float
    embedding: float
    distance: float
    attractors: float
    ambiguity: float
    reordering: float
    fronting: float
    coordination: float
    relatives: float
    pronouns: float
    moods: float
    passives: float
    perfects: float
    questions: float
    comparatives: float
    separable: float
    open_words: float
    verbosity: float
    paraphrase: float
    noise: float


SHORTEST = 3  # smallest number of source words in a sentence
SHORT = 10  # largest number of words in a short sentence; all short lengths are equally common
DECAY = 0.98  # ratio of sentences with n + 1 words to sentences with n words, for n > SHORT


def training_lengths(longest: int, short_share: float) -> Pool[int]:
    """Return the lengths of training sentences: many short sentences, and a long tail.

    Short sentences teach the words, even to a model without attention. In the tail every length is
    common enough to be learned.
    """
    short = range(SHORTEST, SHORT + 1)
    tail = list(accumulate([DECAY] * (longest - SHORT), lambda weight, ratio: weight * ratio))
    weights = [short_share / len(short)] * len(short)
    weights += [(1 - short_share) * weight / sum(tail) for weight in tail]
    return Pool(range(SHORTEST, longest + 1), weights)


class Lengths:
    """Lengths to ask for, so that each ten of lengths is written as often as a pool has it."""

    def __init__(self, lengths: Pool[int], random: Random) -> None:
        self._lengths, self._random = lengths, random
        self._lacking = Counter[int]()

    def next(self) -> int:
        """Draw a length, or one of the ten that lacks most sentences, if its own ten lacks none."""
        length = self._lengths.draw(self._random)
        self._lacking[_bucket(length)] += 1
        if self._lacking[_bucket(length)] <= 0:
            most = max(self._lacking, key=self._lacking.__getitem__)
            while _bucket(length) != most:
                length = self._lengths.draw(self._random)
        return length

    def count(self, words: float) -> None:
        """Take note of the length of a sentence that was written."""
        self._lacking[_bucket(words)] -= 1


def _bucket(words: float) -> int:
    return int(words - 1) // 10


def buckets(longest: int) -> tuple[tuple[int, int], ...]:
    """Return the smallest and largest number of words of each bucket: 1-10, 11-20 and so on."""
    return tuple(
        (max(SHORTEST, most - 9), min(most, longest)) for most in range(10, longest + 10, 10)
    )
