"""English."""

from collections.abc import Mapping
from functools import cache, cached_property

from typing_extensions import override

from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.english.verb_groups import EnglishVerb, verb_group
from datamodules.grammar.languages.language import (
    DETERMINER,
    EMPTY,
    FIRST_ADJECTIVE,
    NOUN,
    OBJECT,
    OWNER,
    POSSIBLE,
    PREPOSITION,
    RECIPIENT,
    SUBJECT,
    SUBORDINATE,
    THAT,
    VERB,
    WHO,
    Cache,
    Language,
    Piece,
    Text,
    Word,
    graded,
    is_pronoun,
    piece,
    read_expressions,
    read_sections,
    subject_of,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    HUMAN,
    THIRD_PLURAL,
    Clause,
    Core,
    Dated,
    Mode,
    Noun,
    NounPhrase,
    Pronoun,
    Verb,
)

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SUBJECTS = {FIRST_SINGULAR: "I", FIRST_PLURAL: "we", THIRD_PLURAL: "they"}
_OBJECTS = {FIRST_SINGULAR: "me", FIRST_PLURAL: "us", THIRD_PLURAL: "them"}
_TO = piece([("to", (RECIPIENT,))])
_TO_NOUN = piece([("to", (PREPOSITION,))])
_THAT = piece([("that", (THAT,))])


class English(Language):
    """English: the verb after the subject, adverbials at the end."""

    code = "en"
    agrees_in_gender = False
    orders = ((
        "particle", "subject", "verb", "object", "recipient", "oblique", "quality", "manner",
        "place", "time", "complement",
    ),) * 3  # fmt: skip

    def __init__(self) -> None:
        sections = read_sections(__package__)
        super().__init__(read_expressions(sections))
        self._plurals = {name: cells[0] for name, cells in sections["plurals"].items()}
        self._verbs = {
            name: EnglishVerb.of(cells[0], _preposition(cells[1:]))
            for name, cells in sections["verbs"].items()
        }
        self._separable = frozenset(sections["separable"])
        self._cores = Cache(self._core)
        self._groups = Cache(self._group)
        self._pronouns = Cache(_pronoun)

    @override
    def finish(self, text: Text) -> tuple[str, list[int]]:
        words: list[int] = []
        count = 0
        for word in text.texts:
            if word == ",":
                words.append(count - 1)
            else:
                words.append(count)
                count += 1
        return " ".join(text.texts).replace(" ,", ","), words

    @override
    def gender(self, noun: Noun) -> str:
        return noun.gender

    @override
    @cached_property
    def separable_verbs(self) -> Mapping[str, tuple[str, str]]:
        phrasal = {name: forms.base.split() for name, forms in self._verbs.items()}
        return {name: (words[0], words[1]) for name, words in phrasal.items() if len(words) == 2}

    def subject(self, clause: Clause, text: Text) -> None:
        """Write the subject, if it stands apart from the verb, or a relative pronoun."""
        if clause.gap == "subject":
            assert clause.antecedent is not None
            human = clause.antecedent.core.noun.kind in (*HUMAN, "name", "surname")
            text.add(_relative("who" if human else "that"), clause.unit)
            return
        if clause.gap == "object":
            text.add(_relative("that"), clause.unit)
        subject = clause.subject
        if subject.__class__ is NounPhrase:
            self.noun_phrase(subject, text)
        else:
            text.add(self._pronouns[subject, SUBJECT], clause.unit)  # type: ignore[index]

    def verb(self, clause: Clause, text: Text) -> None:
        """Write the verb with its auxiliaries and negation."""
        group = self._groups[clause.verb, clause.mode, subject_of(clause).person]
        text.add(_without_last(group) if self._is_separated(clause) else group, clause.unit)

    def _is_separated(self, clause: Clause) -> bool:
        """Return whether a pronoun stands between a verb and its particle (*wake me up*)."""
        return clause.verb.name in self._separable and is_pronoun(clause.object)

    def _group(self, key: tuple[Verb, Mode, int]) -> Piece:
        verb, mode, person = key
        modal = None if mode.modal is None else self._verbs.get(mode.modal.name)
        return verb_group(self._verbs[verb.name], mode, person, modal)

    @override
    def object(self, clause: Clause, text: Text) -> None:
        if is_pronoun(clause.object):
            text.add(self._pronouns[clause.object, OBJECT], clause.unit)  # type: ignore[index]
            if self._is_separated(clause):
                particle = self._verbs[clause.verb.name].base.split()[-1]
                text.add(piece([(particle, (VERB,))]), clause.unit)
        else:
            super().object(clause, text)

    def recipient(self, clause: Clause, text: Text) -> None:
        """Write to whom something is given."""
        recipient = clause.recipient
        if is_pronoun(recipient):
            text.add(_TO, clause.unit)
            text.add(self._pronouns[recipient, RECIPIENT], clause.unit)  # type: ignore[index]
        elif recipient is not None:
            self.noun_phrase(recipient, text, _TO_NOUN)  # type: ignore[arg-type]

    def oblique(self, clause: Clause, text: Text) -> None:
        """Write the noun phrase after the preposition of the verb."""
        if clause.oblique is not None:
            self.noun_phrase(clause.oblique, text, self._verbs[clause.verb.name].preposition)

    def quality(self, clause: Clause, text: Text) -> None:
        """Write the adjective after *be*, with its degree."""
        if clause.adjective is not None:
            degree = "" if clause.degree is None else clause.degree.name
            text.add(graded(clause.adjective.name, degree), clause.unit)

    def complement(self, clause: Clause, text: Text) -> None:
        """Write the clause after *that*."""
        if clause.complement is not None:
            text.add(_THAT, clause.unit)
            self.clause(clause.complement, text, SUBORDINATE)

    @override
    def noun_phrase(self, phrase: NounPhrase, text: Text, before: Piece = EMPTY) -> None:
        text.add(before, phrase.unit)
        if phrase.owner is not None:
            text.add(self._cores[phrase.owner.core, True], phrase.owner.unit)
        text.add(self._cores[phrase.core, False], phrase.unit)
        if phrase.attribute is not None:
            self.place_of(phrase.attribute, text)
        if phrase.relative is not None:
            self.clause(phrase.relative, text, SUBORDINATE)

    @override
    def date(self, date: Dated) -> Piece:
        words = ("on", str(date.day), MONTHS[date.month - 1], str(date.year))
        return piece((word, (2 * role,)) for role, word in enumerate(words))

    def noun(self, noun: Noun, plural: bool) -> str:
        """Return a form of a noun."""
        singular = noun.name.partition(":")[0]
        if not plural:
            return singular
        return self._plurals.get(singular) or morphology.plural(singular)

    def _core(self, key: tuple[Core, bool]) -> Piece:
        core, owner = key
        words: list[Word] = [
            (adjective.name, (FIRST_ADJECTIVE + 2 * place,))
            for place, adjective in enumerate(core.adjectives)
        ]
        form = self.noun(core.noun, core.plural)
        words.append((form + "'s", (NOUN, OWNER + POSSIBLE)) if owner else (form, (NOUN,)))
        determiner = _determiner(core, words[0][0])
        return piece([(determiner, (DETERMINER,)), *words] if determiner else words)


def _preposition(cells: list[str]) -> Piece:
    return piece((word, (PREPOSITION,)) for word in "".join(cells).split())


def _determiner(core: Core, following: str) -> str:
    match core.determiner:
        case "a":
            return "an" if morphology.takes_an(following) else "a"
        case "some" if core.denied:
            return "any"
        case "this" if core.plural:
            return "these"
        case "title":
            return "Mr" if core.noun.gender == "m" else "Mrs"
    return core.determiner


@cache
def _without_last(group: Piece) -> Piece:
    last = len(group.texts) - 1
    return Piece(group.texts[:last], tuple(each for each in group.played if each[0] < last))


@cache
def _relative(word: str) -> Piece:
    return piece([(word, (WHO,))])


def _pronoun(key: tuple[Pronoun, int]) -> Piece:
    pronoun, role = key
    forms = _SUBJECTS if role == SUBJECT else _OBJECTS
    form = forms.get(pronoun.person)
    if form is None:
        form = _third_singular(pronoun, role == SUBJECT)
    return piece([(form, (role,))])


def _third_singular(pronoun: Pronoun, subject: bool) -> str:
    noun = pronoun.noun
    if noun is not None and not noun.gender:
        return "it"
    gender = pronoun.gender if noun is None else noun.gender
    if gender == "m":
        return "he" if subject else "him"
    return "she" if subject else "her"
