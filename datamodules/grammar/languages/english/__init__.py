"""English."""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate

from typing_extensions import override

from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.english.verb_groups import EnglishVerb, asked_group, verb_group
from datamodules.grammar.languages.language import (
    ADJECTIVES,
    AND,
    DETERMINER,
    EMPTY,
    GOVERN,
    NOUN,
    OBJECT,
    OWNER,
    PLACE_GAP,
    POSSIBLE,
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
    is_pronoun,
    is_subject_gap,
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
    Participant,
    Pronoun,
    Verb,
)

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SUBJECTS = {FIRST_SINGULAR: "I", FIRST_PLURAL: "we", THIRD_PLURAL: "they"}
_OBJECTS = {FIRST_SINGULAR: "me", FIRST_PLURAL: "us", THIRD_PLURAL: "them"}
_REFLEXIVES = {FIRST_SINGULAR: "myself", FIRST_PLURAL: "ourselves", THIRD_PLURAL: "themselves"}
_OWNING = (NOUN, OWNER + POSSIBLE)  # roles of *teacher's*
_TO = piece([("to", (GOVERN,))])
_AND = piece([("and", (AND,))])
_RELATIVES = {word: piece([(word, (WHO,))]) for word in ("who", "that", "whose", "where")}
_QUESTIONS = {
    "whether": EMPTY, "who": piece([("who", (SUBJECT,))]), "what": piece([("what", (OBJECT,))]),
    "where": piece([("where", (PLACE_GAP,))]),
}  # fmt: skip


_Key = tuple[Verb, Mode, int]


class English(Language):
    """English: the verb after the subject, adverbials at the end."""

    code = "en"
    that = piece([("that", (THAT,))])
    agrees_in_gender = False
    orders = ((
        "particle", "topic", "subject", "verb", "object", "recipient", "oblique", "quality",
        "manner", "agent", "place", "comment", "complement",
    ),) * 3  # fmt: skip

    def __init__(self) -> None:
        sections = read_sections(__package__)
        super().__init__(read_expressions(sections))
        self._plurals = {name: cells[0] for name, cells in sections["plurals"].items()}
        self._verbs = {name: EnglishVerb.of(*cells) for name, cells in sections["verbs"].items()}
        self._comparatives = {name: cells[0] for name, cells in sections["comparatives"].items()}
        self._separable = frozenset(sections["separable"])
        self._giving = frozenset(sections["giving"])
        self._cores = Cache(self._core)
        self._groups: Cache[_Key, Piece] = Cache(lambda key: verb_group(*self._forms(key)))
        self._questions: Cache[_Key, tuple[Piece, Piece]] = Cache(
            lambda key: asked_group(*self._forms(key))
        )
        self._pronouns = Cache(_pronoun)

    @override
    def finish(self, text: Text) -> tuple[str, list[int]]:
        texts = text.texts
        written = " ".join(texts)
        if "," not in texts:
            return written, list(range(len(texts)))
        numbers = accumulate([word != "," for word in texts], initial=-1)
        next(numbers)
        return written.replace(" ,", ","), list(numbers)

    @override
    def gender(self, noun: Noun) -> str:
        return noun.gender

    @override
    @cached_property
    def separable_verbs(self) -> Mapping[str, tuple[str, str]]:
        phrasal = {name: forms.base.split() for name, forms in self._verbs.items()}
        return {name: (words[0], words[1]) for name, words in phrasal.items() if len(words) == 2}

    @override
    def fronts_time(self, clause: Clause) -> bool:
        return clause.time_first

    def subject(self, clause: Clause, text: Text) -> None:
        """Write the subject; before it, what begins a relative clause or a question."""
        if clause.gap and not self._begin_relative(clause, text):
            return
        if clause.question:
            text.add(_QUESTIONS[clause.question], clause.unit)
            if clause.question == "who":
                return
            text.add(self._questions[_key(clause)][0], clause.unit)
        subject = clause.object if clause.mode.passive else clause.subject
        if subject.__class__ is NounPhrase:
            self.noun_phrase(subject, text)
        else:
            role = OBJECT if clause.mode.passive else SUBJECT
            text.add(self._pronouns[subject, True, role], clause.unit)  # type: ignore[index]

    def _begin_relative(self, clause: Clause, text: Text) -> bool:
        """Write a relative pronoun; return whether a subject follows."""
        if clause.gap == "shared":
            return False
        assert clause.antecedent is not None
        if is_subject_gap(clause):
            human = clause.antecedent.core.noun.kind in (*HUMAN, "name", "surname")
            text.add(_RELATIVES["who" if human else "that"], clause.unit)
            return False
        word = {"owner": "whose", "place": "where"}.get(clause.gap, "that")
        text.add(_RELATIVES[word], clause.unit)
        if _fronts_object(clause):
            super().object(clause, text)
        return True

    def verb(self, clause: Clause, text: Text) -> None:
        """Write the verb with its auxiliaries, its negation and its preposition."""
        key = _key(clause)
        group = self._questions[key][1] if _is_inverted(clause) else self._groups[key]
        if self._is_separated(clause):
            group = _parts(group, len(group.texts) - 1)[0]
        if _precedes_verb(clause):
            auxiliaries, group = _parts(group, _first_verb(group))
            text.add(auxiliaries, clause.unit)
            super().manner(clause, text)
        text.add(group, clause.unit)

    @override
    def manner(self, clause: Clause, text: Text) -> None:
        if not _precedes_verb(clause):
            super().manner(clause, text)

    def _is_separated(self, clause: Clause) -> bool:
        """Return whether a pronoun stands between a verb and its particle (*wake me up*)."""
        return (
            is_pronoun(clause.object)
            and clause.verb.name in self._separable
            and not clause.mode.passive
        )

    def _is_given(self, clause: Clause) -> bool:
        """Return whether a recipient stands before the object (*gives me the book*)."""
        return (
            is_pronoun(clause.recipient)
            and isinstance(clause.object, NounPhrase)
            and clause.verb.name in self._giving
        )

    def _forms(self, key: _Key) -> tuple[EnglishVerb, Mode, int, EnglishVerb | None]:
        verb, mode, person = key
        modal = None if mode.modal is None else self._verbs.get(mode.modal.name)
        return self._verbs[verb.name], mode, person, modal

    @override
    def object(self, clause: Clause, text: Text) -> None:
        if clause.object is None or clause.mode.passive or _fronts_object(clause):
            return
        if self._is_given(clause):
            assert clause.recipient is not None
            self._participant(clause.recipient, RECIPIENT, clause, text)
        self._participant(clause.object, OBJECT, clause, text)
        if self._is_separated(clause):
            particle = self._verbs[clause.verb.name].base.split()[-1]
            text.add(piece([(particle, (VERB,))]), clause.unit)

    def recipient(self, clause: Clause, text: Text) -> None:
        """Write to whom something is given, unless it is said already."""
        if clause.recipient is not None and not self._is_given(clause):
            text.add(_TO, clause.unit)
            self._participant(clause.recipient, RECIPIENT, clause, text)

    def oblique(self, clause: Clause, text: Text) -> None:
        """Write what follows the preposition of the verb."""
        if clause.oblique is not None:
            self._participant(clause.oblique, OBJECT, clause, text)

    def _participant(self, written: Participant, role: int, clause: Clause, text: Text) -> None:
        if written.__class__ is Pronoun:
            text.add(self._pronouns[written, False, role], clause.unit)
        else:
            self.noun_phrase(written, text)  # type: ignore[arg-type]

    def quality(self, clause: Clause, text: Text) -> None:
        """Write the adjective after *be*, with its degree, and what it is compared with."""
        if clause.adjective is None:
            return
        name = clause.adjective.name
        text.add(self.graded(clause, name, self._comparatives.get(name)), clause.unit)
        if clause.standard is not None:
            self.noun_phrase(clause.standard, text, self.standard(clause))

    @override
    def noun_phrase(self, phrase: NounPhrase, text: Text, before: Piece = EMPTY) -> None:
        if before is not EMPTY:
            text.add(before, phrase.unit)
        if phrase.owner is not None:
            text.add(self._cores[phrase.owner.core, True], phrase.owner.unit)
        text.add(self._cores[phrase.core, False], phrase.unit)
        if phrase.beside is not None:
            text.add(_AND, phrase.unit)
            text.add(self._cores[phrase.beside.core, False], phrase.beside.unit)
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
        words = [adjective.name for adjective in core.adjectives]
        form = self.noun(core.noun, core.plural)
        words.append(form + "'s" if owner else form)
        roles = (*ADJECTIVES[: len(core.adjectives)], _OWNING if owner else (NOUN,))
        determiner = _determiner(core, words[0])
        if determiner:
            return Piece((determiner, *words), ((DETERMINER,), *roles))
        return Piece(tuple(words), roles)


def _determiner(core: Core, following: str) -> str:
    match core.determiner:
        case "a":
            return "an" if morphology.takes_an(following) else "a"
        case "some" if core.denied:
            return "any"
        case "this" if core.plural:
            return "these"
        case "whose":
            return ""
        case "title":
            return "Mr" if core.noun.gender == "m" else "Mrs"
    return core.determiner


@cache
def _parts(group: Piece, end: int) -> tuple[Piece, Piece]:
    """Return the words of a group before the word ``end``, and the others."""
    texts, roles = group.texts, group.roles
    return Piece(texts[:end], roles[:end]), Piece(texts[end:], roles[end:])


@cache
def _first_verb(group: Piece) -> int:
    """Return the number of the first word of a group that is no auxiliary."""
    return next(word for word, roles in enumerate(group.roles) if VERB in roles)


def _precedes_verb(clause: Clause) -> bool:
    """Return whether an adverb of manner stands before the verb (*reluctantly obeys the king*).

    It does so before a noun phrase, but not behind a relative clause, whose verb it would seem to
    belong to (*the man who called quickly opened the door*).
    """
    mode, subject = clause.mode, subject_of(clause)
    if (
        clause.manner is None
        or mode.negation
        or not (mode.modal is None or mode.modal.name == "can")
    ):
        return False
    if isinstance(subject, NounPhrase) and subject.relative is not None and not clause.gap:
        return False
    following = clause.subject if mode.passive else clause.object or clause.oblique
    return isinstance(following, NounPhrase) and not _fronts_object(clause)


def _key(clause: Clause) -> _Key:
    return clause.verb, clause.mode, subject_of(clause).person


def _is_inverted(clause: Clause) -> bool:
    """Return whether an auxiliary stands before the subject."""
    return clause.question not in ("", "who")


def _fronts_object(clause: Clause) -> bool:
    """Return whether the object stands before the subject (*whose dog I see*)."""
    if clause.gap != "owner" or not isinstance(clause.object, NounPhrase):
        return False
    return clause.object.core.determiner == "whose"


def _pronoun(key: tuple[Pronoun, bool, int]) -> Piece:
    pronoun, subject, role = key
    forms = _SUBJECTS if subject else _REFLEXIVES if pronoun.reflexive else _OBJECTS
    form = forms.get(pronoun.person)
    if form is None:
        form = _third_singular(pronoun, subject)
        if pronoun.reflexive:
            form += "self"
    return piece([(form, (role,))])


def _third_singular(pronoun: Pronoun, subject: bool) -> str:
    noun = pronoun.noun
    if noun is not None and not noun.gender:
        return "it"
    gender = pronoun.gender if noun is None else noun.gender
    if gender == "m":
        return "he" if subject else "him"
    return "she" if subject else "her"
