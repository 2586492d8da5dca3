"""Sentence pairs: one meaning, written in two languages, with the links between the words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from datamodules.grammar.drawing.draws import Random
from datamodules.grammar.languages.language import PLAYED, Cache, Language, Piece, Played, Text
from datamodules.grammar.meaning.phrases import Joined

_LEFT = 17  # bits of a link behind the number of its source word


class SentencePair(NamedTuple):
    """A sentence pair with word counts and links."""

    source: str
    target: str
    source_words: int
    target_words: int
    links: str  # Pharaoh pairs: ``i-j`` a sure link, ``i?j`` a possible link
    clauses: tuple[str, ...] = ()  # the clauses of the source sentence
    meaning: Sequence[Joined] = ()


def write_pair(meaning: Sequence[Joined], source: Language, target: Language) -> SentencePair:
    """Write a sentence in both languages."""
    text, translation = source.sentence(meaning), target.sentence(meaning)
    clauses = tuple([" ".join(text.texts[first:end]) for first, end in text.clauses])
    (source_text, source_words), (target_text, target_words) = (
        source.finish(text),
        target.finish(translation),
    )
    return SentencePair(
        punctuated(source_text, meaning),
        punctuated(target_text, meaning),
        source_words[-1] + 1,
        target_words[-1] + 1,
        _links(text, translation, source_words, target_words),
        clauses,
        meaning,
    )


def _links(
    source: Text, target: Text, source_words: Sequence[int], target_words: Sequence[int]
) -> str:
    """Link words with the same role in the same unit, surely unless either side is unsure."""
    units: dict[int, list[tuple[Piece, int]]] = {}
    for piece, unit, first in source.pieces:
        units.setdefault(unit, []).append((piece, first))
    found: set[int] = set()  # source word, target word, and 1 if their link is only possible
    for piece, unit, first in target.pieces:
        alike = _ALIKE[piece.shape]
        for other, start in units.get(unit, ()):
            for word, number, unsure in alike[other.shape]:
                words = source_words[start + word] << _LEFT | target_words[first + number] << 1
                found.add(words | unsure)
    return " ".join(
        [_LINKS[link] for link in sorted(found) if not (link & 1 and link - 1 in found)]
    )


def _alike(target: int) -> Cache[int, Played]:
    """Return, by the shape of a source piece, the words that play the same role in a target piece,
    and 1 if a link is only possible."""
    return Cache(
        lambda source: tuple(
            (word, number, unsure | other_unsure)
            for word, role, unsure in PLAYED[source]
            for number, other_role, other_unsure in PLAYED[target]
            if role == other_role
        )
    )


def _link(link: int) -> str:
    return f"{link >> _LEFT}{'?' if link & 1 else '-'}{link % (1 << _LEFT) >> 1}"


_ALIKE, _LINKS = Cache(_alike), Cache(_link)


def punctuated(text: str, meaning: Sequence[Joined]) -> str:
    """Return a sentence with a capital letter, and a full stop or a question mark."""
    mark = "?" if meaning[0].clause.question else "."
    return text[0].upper() + text[1:] + mark


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
