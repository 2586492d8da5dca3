"""German noun phrases and what stands in them; how words become a written sentence."""

from functools import cache

from typing_extensions import override

from datamodules.grammar.languages.german.nouns import (
    CASES,
    DATIVE,
    GENITIVE,
    NOMINATIVE,
    GermanNouns,
)
from datamodules.grammar.languages.german.verbs import is_heavy
from datamodules.grammar.languages.language import (
    EMPTY,
    NOT,
    OBJECT,
    POSSIBLE,
    PREPOSITION,
    SUBORDINATE,
    VERB,
    WHO,
    Cache,
    Language,
    Piece,
    Section,
    Text,
    piece,
    read_expressions,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    Clause,
    Core,
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
}
"""Nominative, accusative and dative."""
_REFLEXIVES = {FIRST_SINGULAR: ("mich", "mir"), FIRST_PLURAL: ("uns", "uns")}
RELATIVE = "+"  # stands before a relative pronoun, which does not contract (*in dem er wohnt*)
_RELATIVES = {
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "p": ("die", "die", "denen"),
}


@cache
def pronoun(person: int | str, case: int, role: int) -> Piece:
    """Return a personal pronoun."""
    return piece([(PRONOUNS[person][case], (role,))])


@cache
def reflexive(person: int, case: int) -> Piece:
    """Return *mich*, *mir*, *sich* and the like."""
    forms = _REFLEXIVES.get(person, ("sich", "sich"))
    return piece([(forms[case == DATIVE], (VERB + POSSIBLE,))])


@cache
def relative(gender: str, case: int, preposition: str) -> Piece:
    """Return a relative pronoun, with the preposition of the verb, which may be empty."""
    pronoun = RELATIVE + _RELATIVES[gender][case], (WHO,)
    return piece([(preposition, (VERB + POSSIBLE,)), pronoun] if preposition else [pronoun])


@cache
def preposition(word: str) -> Piece:
    """Return the preposition of an object."""
    return piece([(word, (PREPOSITION,))])


@cache
def verbal(word: str) -> Piece:
    """Return the preposition of a verb, which other languages may have in the verb itself."""
    return piece([(word, (VERB + POSSIBLE,))])


@cache
def pronominal_adverb(word: str) -> Piece:
    """Return a preposition with a pronoun for a thing (*darauf*)."""
    return piece([("da" + "r" * (word[0] in "aeiouü") + word, (OBJECT, VERB + POSSIBLE))])


MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni",
    "Juli", "August", "September", "Oktober", "November", "Dezember",
)  # fmt: skip
_CONTRACTED = {
    ("in", "dem"): "im", ("in", "das"): "ins", ("an", "dem"): "am", ("an", "das"): "ans",
    ("von", "dem"): "vom", ("zu", "dem"): "zum", ("zu", "der"): "zur", ("bei", "dem"): "beim",
}  # fmt: skip
_NO = Piece((), piece([("kein", (NOT,))]).played)  # what *kein* plays in its clause


class Phrases(Language):
    """Noun phrases in four cases, places, dates; commas and contractions."""

    def __init__(self, sections: dict[str, Section]) -> None:
        """Read nouns, adjectives, prepositions and expressions from the word list."""
        super().__init__(read_expressions(sections))
        self._cases = {name: CASES[cells[1]] for name, cells in sections["prepositions"].items()}
        self._words = GermanNouns(sections)
        self._cores: Cache[tuple[Core, int, bool], Piece] = Cache(self._core)

    @override
    def finish(self, text: Text) -> tuple[str, list[int]]:
        words: list[int] = []
        written: list[str] = []
        before, comma = "", False
        for word in text.texts:
            contracted = _CONTRACTED.get((before, word))
            if word == ",":
                comma = bool(written)
            elif contracted is not None:
                written[-1] = contracted
            else:
                if comma:
                    written[-1] += ","
                    comma = False
                written.append(word.removeprefix(RELATIVE))
            words.append(max(0, len(written) - 1))
            before = word
        return " ".join(written), words

    @override
    def gender(self, noun: Noun) -> str:
        return self._words.gender(noun)

    @override
    def noun_phrase(self, phrase: NounPhrase, text: Text, before: Piece = EMPTY) -> None:
        self._noun_phrase(phrase, text, NOMINATIVE, before)

    @override
    def place_of(self, place: Place, text: Text) -> None:
        if isinstance(place, Prepositional):
            name = place.preposition.name
            before = self.expressions[name]
            self._noun_phrase(place.phrase, text, self._cases[name], before)
        else:
            super().place_of(place, text)

    def _noun_phrase(
        self,
        phrase: NounPhrase,
        text: Text,
        case: int,
        before: Piece = EMPTY,
        negated_by: Clause | None = None,
        light: bool = False,
    ) -> None:
        """Write a noun phrase in a case, after a preposition.

        With *kein*, it negates the clause ``negated_by``. A ``light`` phrase leaves a heavy
        relative clause for the end of the clause.
        """
        text.add(before, phrase.unit)
        core, owner = phrase.core, phrase.owner
        if negated_by is not None:
            text.pieces.append((_NO, negated_by.unit, len(text.texts)))
        if owner is not None and owner.core.determiner:
            core = core._replace(determiner="the")
        elif owner is not None:
            text.add(self._cores[owner.core, GENITIVE, False], owner.unit)
        text.add(self._cores[core, case, negated_by is not None], phrase.unit)
        if owner is not None and owner.core.determiner:
            text.add(self._cores[owner.core, GENITIVE, False], owner.unit)
        if phrase.attribute is not None:
            self.place_of(phrase.attribute, text)
        if phrase.relative is not None and not (light and is_heavy(phrase.relative)):
            self._relative(phrase, text)

    def _relative(self, phrase: NounPhrase, text: Text) -> None:
        assert phrase.relative is not None
        text.comma()
        self.clause(phrase.relative, text, SUBORDINATE)
        text.comma()

    @override
    def date(self, date: Dated) -> Piece:
        words = ("am", f"{date.day}.", MONTHS[date.month - 1], str(date.year))
        return piece((word, (2 * role,)) for role, word in enumerate(words))

    def _core(self, key: tuple[Core, int, bool]) -> Piece:
        return self._words.core(*key)

    def _person(self, participant: Participant) -> int | str:
        """Return a key of the table of pronouns: the person, or the gender of a third singular."""
        assert isinstance(participant, Pronoun)
        if participant.person in PRONOUNS:
            return participant.person
        return (
            participant.gender if participant.noun is None else self._words.gender(participant.noun)
        )
