"""Noise in training pairs: a target sentence of another pair, or a missing target word."""

import re
from collections.abc import Iterable, Iterator

from datamodules.grammar.drawing.tables import Random
from datamodules.grammar.pairs import SentencePair

_LINK = re.compile(r"(\d+)([-?])(\d+)")


def add_noise(
    pairs: Iterable[SentencePair], share: float, random: Random
) -> Iterator[SentencePair]:
    """Yield the pairs; damage a ``share`` of them, one half in each way."""
    before: SentencePair | None = None
    for pair in pairs:
        if before is not None and random() < share:
            if random() < 0.5:
                yield pair._replace(
                    target=before.target, target_words=before.target_words, links=""
                )
            else:
                yield without_word(pair, int(random() * pair.target_words))
        else:
            yield pair
        before = pair


def without_word(pair: SentencePair, number: int) -> SentencePair:
    """Return a pair that lacks a target word, counted from 0, unless it is the only word."""
    words = pair.target.split()
    if len(words) < 2:
        return pair
    del words[number]
    links = []
    for source, kind, target in _LINK.findall(pair.links):
        place = int(target)
        if place != number:
            links.append(f"{source}{kind}{place - (place > number)}")
    return pair._replace(target=" ".join(words), target_words=len(words), links=" ".join(links))
