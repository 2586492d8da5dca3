"""Words of a wrong sentence, set into the right sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from datamodules.grammar.drawing.draws import Random
from datamodules.grammar.languages.language import Language, Text
from datamodules.grammar.meaning.lexicon import Lexicon
from datamodules.grammar.meaning.phrases import Clause, Joined, Noun, inner_clauses

Change = Sequence[tuple[object, dict[str, Any]]]  # parts of a meaning, with other attributes
Words = list[str]  # of a sentence, before they merge (*de le*)
Chosen = Callable[[int, int], bool]
"""Tells of a unit and a role (halved, as in ``Piece.played``) whether the word is to be wrong."""


class Site(NamedTuple):
    """Where an error fits; the wrong sentence is written only if it is needed."""

    decides: int  # place of the word that decides, in the words of the right text
    near: int  # place of the first word that may be wrong
    wrong: Callable[[], Words | None]  # all words of the wrong sentence
    form: str = ""
    """The right form, such as ``singular``, a gender or ``not``. A category has about as many pairs
    of each form, so that a model that prefers one form gains nothing."""
    attractor: bool | None = None


def of(unit: int, *roles: int) -> Chosen:
    """Return a choice of the words with certain roles in a unit, or of all its words."""
    halves = {role >> 1 for role in roles}
    return lambda word_unit, role: word_unit == unit and (not halves or role in halves)


@dataclass
class Right:
    """A right translation, and what errors in it need."""

    meaning: Sequence[Joined]
    source: Language
    language: Language
    lexicon: Lexicon
    random: Random

    @property
    def clauses(self) -> Iterator[Clause]:
        """All clauses of the sentence."""
        for joined in self.meaning:
            yield from inner_clauses(joined.clause)

    @cached_property
    def text(self) -> Text:
        """The right sentence, unfinished."""
        return self.language.sentence(self.meaning)

    @cached_property
    def source_sentence(self) -> str:
        """The sentence in the source language, without capital letter and full stop."""
        return self.source.finish(self.source.sentence(self.meaning))[0]

    @cached_property
    def numbers(self) -> list[int]:
        """The number of the written word for each word of the text."""
        return self.finish(self.text.texts)[1]

    def finish(self, words: Words) -> tuple[str, list[int]]:
        """Return a sentence of other words, and for each word the number of its written word."""
        copy = Text()
        copy.texts = list(words)
        return self.language.finish(copy)

    def first(self, unit: int, *roles: int) -> int | None:
        """Return the place of the first word of a unit with one of the roles, or with any."""
        return min(places(self.text, of(unit, *roles)), default=None)

    def wrong(self, change: Change, chosen: Chosen | None = None) -> Words | None:
        """Return the words, the chosen ones (or all) as the changed meaning asks.

        Returns None if the two sentences have not equally many chosen words.
        """
        wrong = self._written(self.language, change)
        if chosen is None:
            return wrong.texts
        ours, theirs = places(self.text, chosen), places(wrong, chosen)
        if len(ours) != len(theirs):
            return None
        return self.replaced(dict(zip(ours, (wrong.texts[place] for place in theirs), strict=True)))

    def replaced(self, words: Mapping[int, str | None]) -> Words:
        """Return the words with others, or none, at some places."""
        texts = (words.get(place, text) for place, text in enumerate(self.text.texts))
        return [text for text in texts if text is not None]

    def sounds_the_same(self, change: Change) -> bool:
        """Return whether the source sentence does not tell the changed meaning from the right."""
        return self.source.finish(self._written(self.source, change))[0] == self.source_sentence

    def _written(self, language: Language, change: Change) -> Text:
        before = [(part, {name: getattr(part, name) for name in new}) for part, new in change]
        try:
            _set(change)
            return language.sentence(self.meaning)
        finally:
            _set(before)

    def another_gender(self, noun: Noun, genders: str = "mfn") -> Noun | None:
        """Return a noun of the same class and of another gender in the language."""
        examples = _of_genders(self.language, self.lexicon.nouns, noun.kind)
        others = examples.keys() & set(genders) - {self.language.gender(noun)}
        return examples[sorted(others)[int(self.random() * len(others))]] if others else None


def places(text: Text, chosen: Chosen) -> list[int]:
    """Return the places of the chosen words in ``text.texts``, from left to right."""
    return sorted({
        first + number
        for piece, unit, first in text.pieces
        for number, role, _ in piece.played
        if chosen(unit, role)
    })  # fmt: skip


def _set(change: Change) -> None:
    for part, attributes in change:
        for name, value in attributes.items():
            setattr(part, name, value)


@cache
def _of_genders(language: Language, nouns: tuple[Noun, ...], kind: str) -> dict[str, Noun]:
    fitting = (noun for noun in nouns if noun.kind == kind and noun.counted)
    return {language.gender(noun): noun for noun in fitting}
