"""German noun phrases and what stands in them; how words become a written sentence."""

from itertools import pairwise

from typing_extensions import override

from datamodules.grammar.languages.german.nouns import CASES, GENITIVE, NOMINATIVE, GermanNouns
from datamodules.grammar.languages.language import (
    AND,
    APART,
    EMPTY,
    GOVERN,
    MERGED,
    NOT,
    OBJECT,
    SUBORDINATE,
    WHO,
    Cache,
    Language,
    Piece,
    Text,
    token,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Clause,
    Dated,
    Noun,
    NounPhrase,
    Participant,
    Place,
    Prepositional,
    Pronoun,
)

PRONOUNS = {
    FIRST_SINGULAR: ("ich", "mich", "mir"),
    FIRST_PLURAL: ("wir", "uns", "uns"),
    THIRD_PLURAL: ("sie", "sie", "ihnen"),
    "m": ("er", "ihn", "ihm"),
    "f": ("sie", "sie", "ihr"),
    "n": ("es", "es", "ihm"),
    "self": ("", "sich", "sich"),
    "who": ("wer", "wen", "wem"),
    "what": ("was", "was", "wem"),
}
"""Nominative, accusative and dative."""
_RELATIVES = {
    "m": ("der", "den", "dem", "dessen"),
    "f": ("die", "die", "der", "deren"),
    "n": ("das", "das", "dem", "dessen"),
    "p": ("die", "die", "denen", "deren"),
}


def pronoun(person: int | str, case: int, role: int) -> Piece:
    """Return a personal, reflexive or interrogative pronoun."""
    return token(PRONOUNS[person][case], role)


def relative(gender: str, case: int) -> Piece:
    """Return a relative pronoun."""
    return token(APART + _RELATIVES[gender][case], WHO)


def pronominal_adverb(first: str, word: str) -> Piece:
    """Return a preposition with *da* for a thing, or with *wo* (*darauf*, *worauf*)."""
    return token(first + "r" * (word[0] in "aeiouü") + word, OBJECT, GOVERN)


MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni",
    "Juli", "August", "September", "Oktober", "November", "Dezember",
)  # fmt: skip
_CONTRACTED = {
    ("in", "dem"): "im", ("in", "das"): "ins", ("an", "dem"): "am", ("an", "das"): "ans",
    ("von", "dem"): "vom", ("zu", "dem"): "zum", ("zu", "der"): "zur", ("bei", "dem"): "beim",
}  # fmt: skip
_CONTRACTING = frozenset(preposition for preposition, _ in _CONTRACTED)
_GENITIVE = ("the", "a", "this", "my", "our", "his", "her", "its", "their", "every")
"""Determiners that show the genitive: *in der Nähe des Hauses*, but *von drei Häusern*."""
_NO = Piece((), ((NOT,),))  # what *kein* plays in its clause
_AND = token("und", AND)


def _shows_genitive(phrase: NounPhrase) -> bool:
    if phrase.owner is not None:
        return bool(phrase.owner.core.determiner)
    shown = phrase.core.determiner in _GENITIVE
    return shown and (phrase.beside is None or _shows_genitive(phrase.beside))


class Phrases(Language):
    """Noun phrases in four cases, places, dates; commas and contractions."""

    def __init__(self) -> None:
        """Read nouns and adjectives from the word list, and the cases after prepositions."""
        super().__init__()
        sections = self.sections
        self._cases = {name: CASES[cells[1]] for name, cells in sections["prepositions"].items()}
        self._at = sections["at"]
        self._words = GermanNouns(sections)
        self._cores = Cache(self._words.core)

    @override
    def merge(self, texts: list[str]) -> None:
        for place in [place for place, pair in enumerate(pairwise(texts)) if pair in _CONTRACTED]:
            texts[place : place + 2] = _CONTRACTED[texts[place], texts[place + 1]], MERGED

    @override
    def gender(self, noun: Noun) -> str:
        return self._words.gender(noun)

    @override
    def place(self, place: Place | None, text: Text) -> None:
        if type(place) is Prepositional:
            name, phrase = place.preposition.name, place.phrase
            if name == "in" and phrase.core.noun.name in self._at:
                name = "at"
            elif name == "near" and _shows_genitive(phrase):
                name = "near:genitive"
            self.noun_phrase(phrase, text, self.expressions[name], self._cases[name])
        else:
            super().place(place, text)

    @override
    def noun_phrase(
        self,
        phrase: NounPhrase,
        text: Text,
        before: Piece = EMPTY,
        case: int = NOMINATIVE,
        negated_by: Clause | None = None,
        light: bool = False,
    ) -> None:
        """Write a noun phrase in a case, after a preposition.

        With *kein*, it negates the clause ``negated_by``. A ``light`` phrase leaves its relative
        clause for the end of the clause.
        """
        if before is not EMPTY:
            text.add(before, phrase.unit)
        core, owner = phrase.core, phrase.owner
        long = phrase.beside is not None or phrase.relative is not None
        if long and text.texts and text.texts[-1] in _CONTRACTING:  # *zu dem Mann, der schläft*
            text.texts[-1] = APART + text.texts[-1]
        if negated_by is not None:
            text.add(_NO, negated_by.unit)
        if owner is not None and owner.core.determiner:
            core = core._replace(determiner="the")
        elif owner is not None:
            text.add(self._cores[owner.core, GENITIVE, False], owner.unit)
        text.add(self._cores[core, case, negated_by is not None], phrase.unit)
        if owner is not None and owner.core.determiner:
            text.add(self._cores[owner.core, GENITIVE, False], owner.unit)
        if phrase.beside is not None:
            text.add(_AND, phrase.unit)
            self.noun_phrase(phrase.beside, text, EMPTY, case, negated_by)
        self.place(phrase.attribute, text)
        if phrase.relative is not None and not light:
            self._relative(phrase, text)

    def _relative(self, phrase: NounPhrase, text: Text) -> None:
        assert phrase.relative is not None
        text.comma()
        self.clause(phrase.relative, text, SUBORDINATE)
        text.comma()

    @override
    def date(self, date: Dated) -> str:
        return f"am {date.day}. {MONTHS[date.month - 1]} {date.year}"

    def _person(self, participant: Participant) -> int | str:
        """Return a key of the table of pronouns: the person, or the gender of a third singular."""
        assert type(participant) is Pronoun
        person, noun = participant.person, participant.noun
        if participant.reflexive and person in (THIRD_SINGULAR, THIRD_PLURAL):
            return "self"
        if person in PRONOUNS:
            return person
        return participant.gender if noun is None else self._words.gender(noun)
