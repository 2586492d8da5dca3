"""French noun phrases and pronouns; how words become a written sentence."""

from functools import cache

from typing_extensions import override

from datamodules.grammar.languages.french.elision import elide_and_contract
from datamodules.grammar.languages.french.nouns import FrenchNouns
from datamodules.grammar.languages.french.verbs import Agreement
from datamodules.grammar.languages.language import (
    AND,
    EMPTY,
    GOVERN,
    OWNER,
    POSSIBLE,
    SUBORDINATE,
    WHO,
    Cache,
    Language,
    Piece,
    Text,
    is_human,
    is_subject_gap,
    token,
)
from datamodules.grammar.meaning.phrases import (
    Clause,
    Core,
    Dated,
    Noun,
    NounPhrase,
    Participant,
    Pronoun,
)

MONTHS = (
    "janvier", "février", "mars", "avril", "mai", "juin",
    "juillet", "août", "septembre", "octobre", "novembre", "décembre",
)  # fmt: skip
_PRONOUNS = {
    "subject": ("je", "il elle", "nous", "ils elles"),
    "object": ("me", "+le +la", "nous", "+les"),
    "dative": ("me", "lui", "nous", "leur"),
    "tonic": ("moi", "lui elle", "nous", "eux elles"),
}
"""Forms by person: masculine and feminine, where they differ."""
_RELATIVES = {
    gap: token(word, WHO)
    for gap, word in (("subject", "qui"), ("object", "que"), ("owner", "dont"), ("place", "où"))
}
_OF = token("de", OWNER + POSSIBLE)
_AND = token("et", AND)
_REPEATED = ("à", "de")  # prepositions that stand before both of two nouns


class Phrases(Language):
    """Noun phrases, pronouns and what agrees with them; dates, elision and contraction."""

    def __init__(self) -> None:
        """Read nouns and adjectives from the word list."""
        super().__init__()
        self._words = FrenchNouns(self.sections)
        self._cores = Cache(self._words.core)

    @override
    def merge(self, texts: list[str]) -> None:
        elide_and_contract(texts)

    @override
    def gender(self, noun: Noun) -> str:
        return self._words.forms(noun).gender

    @override
    def noun_phrase(
        self, phrase: NounPhrase, text: Text, before: Piece = EMPTY, unit: int | None = None
    ) -> None:
        unit = phrase.unit if unit is None else unit
        if before is not EMPTY:
            text.add(before, unit)
        core = phrase.core
        if phrase.owner is not None:
            text.add(self._cores[core._replace(determiner="the")], phrase.unit)
            text.add(_OF, phrase.owner.unit)
            text.add(self._cores[_behind(phrase.owner.core, _OF)], phrase.owner.unit)
        else:
            text.add(self._cores[_behind(core, before)], phrase.unit)
        if phrase.beside is not None:
            text.add(_AND, phrase.unit)
            repeated = _repeated(before)
            text.add(repeated, unit)
            text.add(self._cores[_behind(phrase.beside.core, repeated)], phrase.beside.unit)
        self.place(phrase.attribute, text)
        if phrase.relative is not None:
            self.clause(phrase.relative, text, SUBORDINATE)

    @override
    def date(self, date: Dated) -> str:
        return f"le {'1er' if date.day == 1 else date.day} {MONTHS[date.month - 1]} {date.year}"

    def agreement(self, participant: Participant) -> Agreement:
        """Return what agrees with a participant: two nouns are feminine if both are."""
        if type(participant) is Pronoun:
            return Agreement(participant.person, self._gender(participant))
        core, beside = participant.core, participant.beside
        gender = self._words.forms(core.noun, core.synonym).gender
        if beside is not None and gender == "f":
            gender = self._words.forms(beside.core.noun, beside.core.synonym).gender
        return Agreement(participant.person, gender)

    def _gender(self, pronoun: Pronoun) -> str:
        if pronoun.noun is None:
            return pronoun.gender
        gender = self._words.forms(pronoun.noun, pronoun.synonym).gender
        if pronoun.beside is not None and gender == "f":
            return self.gender(pronoun.beside)
        return gender

    def form(self, pronoun: Pronoun, case: str) -> str:
        """Return a form of a personal pronoun: ``subject``, ``object``, ``dative`` or ``tonic``."""
        if pronoun.reflexive:
            return "se"
        forms = _PRONOUNS[case][pronoun.person].split()
        return forms[-1] if self._gender(pronoun) == "f" else forms[0]

    def relative(self, clause: Clause, preposition: Piece) -> Piece:
        """Return the word that begins a relative clause, with the preposition of its verb."""
        if is_subject_gap(clause):
            return _RELATIVES["subject"]
        if clause.gap != "oblique":
            return _RELATIVES[clause.gap]
        assert clause.antecedent is not None
        agreement = self.agreement(clause.antecedent)
        return _governed_relative(preposition, is_human(clause.antecedent), agreement)


@cache
def _governed_relative(preposition: Piece, human: bool, agreement: Agreement) -> Piece:
    """Return *dont*, *à qui* or *sur laquelle*."""
    if preposition.texts == ("de",):
        return token("dont", WHO, GOVERN)
    which = ["lequel", "laquelle", "lesquels", "lesquelles"]
    word = "qui" if human else which[2 * agreement.plural + (agreement.gender == "f")]
    return Piece((*preposition.texts, word), (*preposition.roles, (WHO,)))


@cache
def _repeated(before: Piece) -> Piece:
    """Return what is said again of a preposition: *près de la maison et de l'arbre*."""
    if not before.texts or before.texts[-1] not in _REPEATED:
        return EMPTY
    words = before.texts if before.texts[-1] == "à" else before.texts[-1:]
    return Piece(words, before.roles[-1:] * len(words))


def _behind(core: Core, before: Piece) -> Core:
    """Return a core with what *de des* becomes (*près de quelques maisons*), without *de la*."""
    if core.determiner != "some" or not before.texts or before.texts[-1] != "de":
        return core
    return core._replace(determiner="quelques" if core.plural and not core.denied else "")
