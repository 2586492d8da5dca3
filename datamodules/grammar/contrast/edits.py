"""Words of a wrong sentence, set into the right sentence."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from datamodules.grammar.drawing.draws import Random
from datamodules.grammar.languages.language import Language, Text
from datamodules.grammar.meaning.lexicon import Lexicon
from datamodules.grammar.meaning.phrases import Clause, Joined, Noun, inner_clauses

Chosen = Callable[[int, int], bool]
"""Tells of a unit and a role (halved, as in ``Piece.played``) whether the word is to be wrong."""


class Written(NamedTuple):
    """A sentence of one language, finished, with what its words come from."""

    sentence: str
    text: Text  # before the words were merged
    numbers: list[int]  # number of the written word for each word of ``text``


def write(meaning: Sequence[Joined], language: Language) -> Written:
    """Write a sentence, without the capital letter and the full stop."""
    text = language.sentence(meaning)
    return Written(*_finished(text, text.texts, language))


def with_words(text: Text, texts: Sequence[str], language: Language) -> str:
    """Finish a sentence whose words are ``texts``."""
    return _finished(text, texts, language)[0]


def _finished(text: Text, texts: Sequence[str], language: Language) -> tuple[str, Text, list[int]]:
    copy = Text()
    copy.texts = list(texts)
    sentence, numbers = language.finish(copy)
    return sentence, text, numbers


def spliced(right: Text, wrong: Text, chosen: Chosen) -> list[str] | None:
    """Return the words of ``right``, the chosen ones as in ``wrong``.

    Returns None if the two sentences have not equally many chosen words.
    """
    ours, theirs = list(places(right, chosen)), list(places(wrong, chosen))
    if len(ours) != len(theirs):
        return None
    words = list(right.texts)
    for one, other in zip(ours, theirs, strict=True):
        words[one] = wrong.texts[other]
    return words


def places(text: Text, chosen: Chosen) -> Iterator[int]:
    """Yield the places of the chosen words in ``text.texts``, from left to right."""
    found = {
        first + number
        for piece, unit, first in text.pieces
        for number, role, _ in piece.played
        if chosen(unit, role)
    }
    yield from sorted(found)


@contextmanager
def changed(thing: object, **values: Any) -> Iterator[None]:
    """Change attributes of a part of a meaning for a while."""
    before = {name: getattr(thing, name) for name in values}
    try:
        for name, value in values.items():
            setattr(thing, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(thing, name, value)


Wrong = tuple[str, int]  # a wrong sentence, and the place of its first wrong word
Change = Callable[[], AbstractContextManager[None]]  # changes the meaning for a while


class Site(NamedTuple):
    """Where an error fits; the wrong sentence is written only if it is needed."""

    decides: int  # place of the word that decides, in the words of the right text
    near: int  # place of the first word that may be wrong
    build: Callable[[], Wrong | None]
    form: str = ""
    """The right form, such as ``singular``, a gender or ``not``. A category has about as many pairs
    of each form, so that a model that prefers one form gains nothing."""
    attractor: bool | None = None


@dataclass
class Right:
    """A right translation, and what errors in it need."""

    meaning: Sequence[Joined]
    source: Language
    language: Language
    written: Written
    lexicon: Lexicon
    random: Random

    @property
    def clauses(self) -> Iterator[Clause]:
        """All clauses of the sentence."""
        for joined in self.meaning:
            yield from inner_clauses(joined.clause)

    def first(self, unit: int, role: int) -> int | None:
        """Return the place of the first word with a role in a unit; None if there is none."""
        return self._firsts.get((unit, role >> 1))

    @cached_property
    def _firsts(self) -> dict[tuple[int, int], int]:
        found: dict[tuple[int, int], int] = {}
        for piece, unit, first in self.written.text.pieces:
            for number, role, _ in piece.played:
                place = min(first + number, found.get((unit, role), first + number))
                found[unit, role] = place
        return found

    def with_wrong(self, change: Change, chosen: Chosen) -> Wrong | None:
        """Return the sentence, the chosen words as the changed meaning asks."""
        with change():
            wrong = self.language.sentence(self.meaning)
        texts = spliced(self.written.text, wrong, chosen)
        if texts is None:
            return None
        right = self.written.text.texts
        place = next((n for n, text in enumerate(texts) if text != right[n]), None)
        return None if place is None else (self.sentence_of(texts), place)

    def all_wrong(self, change: Change, place: int) -> Wrong:
        """Return the sentence of the changed meaning, whose first wrong word is known."""
        with change():
            return write(self.meaning, self.language).sentence, place

    def sentence_of(self, texts: Sequence[str]) -> str:
        """Finish a sentence of other words."""
        return with_words(self.written.text, texts, self.language)

    @cached_property
    def source_sentence(self) -> str:
        """The sentence in the source language."""
        return write(self.meaning, self.source).sentence

    def sounds_the_same(self, change: Change) -> bool:
        """Return whether the source sentence does not tell the changed meaning from the right."""
        right = self.source_sentence
        with change():
            return write(self.meaning, self.source).sentence == right

    def another_gender(self, noun: Noun, genders: str = "mfn") -> Noun | None:
        """Draw a noun of the same class and of another gender in the language."""
        gender = self.language.gender(noun)
        others = _of_genders(self.language, self.lexicon.nouns, noun.kind)
        fitting = [other for each in genders if each != gender for other in others.get(each, ())]
        return fitting[int(self.random() * len(fitting))] if fitting else None


@cache
def _of_genders(language: Language, nouns: tuple[Noun, ...], kind: str) -> dict[str, list[Noun]]:
    found: dict[str, list[Noun]] = defaultdict(list)
    for noun in nouns:
        if noun.kind == kind and noun.counted:
            found[language.gender(noun)].append(noun)
    return found


def of(unit: int, *roles: int) -> Chosen:
    """Return a choice of the words with certain roles in a unit."""
    halves = {role >> 1 for role in roles}
    return lambda word_unit, role: word_unit == unit and role in halves


def all_of(unit: int) -> Chosen:
    """Return a choice of all words of a unit."""
    return lambda word_unit, _: word_unit == unit
