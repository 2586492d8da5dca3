"""Texts, a corpus in parts, and encoded pairs for the tests of this folder."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import Corpus, ParallelText, Split


def random_text(words: Sequence[str], count: int, seed: int) -> ParallelText:
    draw = np.random.default_rng(seed)
    source, target = (
        [" ".join(draw.choice(words, n)) for n in draw.integers(1, 9, count)] for _ in range(2)
    )
    return ParallelText(source, target)


class InParts(Corpus):
    """Texts in parts of ``size`` pairs, of which each tells ``told`` of its number.

    The parts whose numbers are ``broken`` interrupt the reading.
    """

    name, source, target = "parts", "de", "en"

    def __init__(
        self,
        train: ParallelText,
        test: ParallelText,
        size: int,
        val: ParallelText | None = None,
        broken: Sequence[int] = (),
        told: Callable[[int], dict[str, Any]] = lambda number: {},
    ) -> None:
        self.texts = {"train": train, "val": val or test, "test": test}
        self.size, self.broken, self.told = size, broken, told

    def split(self, name: Split) -> ParallelText:
        return self.texts[name]

    def parts(self, name: Split) -> Iterator[ParallelText]:
        whole = self.split(name)
        for number, first in enumerate(range(0, len(whole), self.size)):
            if number in self.broken:
                raise KeyboardInterrupt
            part = whole.pairs(first, first + self.size)
            yield ParallelText(part.source, part.target, **self.told(number))


def encoded(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> EncodedPairs:
    src, tgt = ([pair[side] for pair in pairs] for side in (0, 1))
    return EncodedPairs(np.arange(len(pairs)), Sequences.of(src), Sequences.of(tgt))


def random_pairs(count: int, longest: int = 30, seed: int = 0) -> EncodedPairs:
    """Return pairs of fewer than ``longest`` tokens a side."""
    random = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        lengths = random.integers(0, longest, count)
        sides.append(Sequences.joined(random.integers(4, 99, lengths.sum()), lengths))
    return EncodedPairs(None, *sides)
