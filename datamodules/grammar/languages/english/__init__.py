"""English."""

from collections.abc import Mapping
from functools import cached_property

from typing_extensions import override

from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.english.verb_groups import EnglishVerb, verb_group
from datamodules.grammar.languages.language import (
    ADJECTIVES,
    AND,
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
    determined,
    is_human,
    is_subject_gap,
    is_whose,
    token,
    without_preposition,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    SOMEBODY,
    THIRD_PLURAL,
    Clause,
    Core,
    Dated,
    Mode,
    NounPhrase,
    Participant,
    Pronoun,
    Verb,
    person_or_gender,
    subject_of,
)

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_PRONOUNS = {
    FIRST_SINGULAR: ("I", "me", "myself"), FIRST_PLURAL: ("we", "us", "ourselves"),
    THIRD_PLURAL: ("they", "them", "themselves"), "m": ("he", "him", "himself"),
    "f": ("she", "her", "herself"), "": ("it", "it", "itself"),
}  # fmt: skip
"""Subject, object and reflexive by person, or by gender of a third person singular."""
_OWNING = (NOUN, OWNER + POSSIBLE)  # roles of *teacher's*
_TO = token("to", GOVERN)
_AND = token("and", AND)
_RELATIVES = {word: token(word, WHO) for word in ("who", "that", "whose", "where")}
_QUESTIONS = {
    "whether": EMPTY, "who": token("who", SUBJECT), "what": token("what", OBJECT),
    "where": token("where", PLACE_GAP),
}  # fmt: skip


_Key = tuple[Verb, Mode, int, bool]


class English(Language):
    """English: the verb after the subject, adverbials at the end."""

    code = "en"
    that = token("that", THAT)
    agrees_in_gender = False

    def __init__(self) -> None:
        super().__init__()
        sections = self.sections
        self._plurals = {name: cells[0] for name, cells in sections["plurals"].items()}
        self._verbs = {name: EnglishVerb.of(*cells) for name, cells in sections["verbs"].items()}
        self._comparatives = {name: cells[0] for name, cells in sections["comparatives"].items()}
        self._separable = frozenset(sections["separable"])
        self._giving = frozenset(sections["giving"])
        self._cores = Cache(self._core)
        self._owners: Cache[Core, Piece] = Cache(lambda core: self._core(core, "'s", _OWNING))
        self._groups = Cache(self._group)
        self._pronouns = Cache(_pronoun)

    @override
    @cached_property
    def separable_verbs(self) -> Mapping[str, tuple[str, str]]:
        phrasal = {name: forms.base.split() for name, forms in self._verbs.items()}
        return {name: (words[0], words[1]) for name, words in phrasal.items() if len(words) == 2}

    @override
    def clause(self, clause: Clause, text: Text, order: int) -> None:
        begin, role = len(text.texts), SUBJECT
        subject, object_, agent = clause.subject, clause.object, None
        if clause.mode.passive:
            subject, object_, agent, role = object_, None, subject, OBJECT
        self.particle(clause.particle, text)
        if clause.time is not None and clause.time_first:
            self.time(clause.time, text)
            text.comma()
        asked = clause.question not in ("", "who")
        person = (subject or clause.antecedent or SOMEBODY).person
        group = self._groups[clause.verb, clause.mode, person, asked]
        if clause.question:
            text.add(_QUESTIONS[clause.question], clause.unit)
            if asked:
                auxiliary, group = _PARTS[group, 1]
                text.add(auxiliary, clause.unit)
        elif clause.gap:
            self._relative(clause, text)
            if is_whose(object_):
                self.noun_phrase(object_, text)  # *whose dog I see*
                object_ = None
        if clause.gap != "shared":
            self._participant(subject, role, clause, text, is_subject=True)
        self._verb(clause, group, object_, agent, text)
        if type(agent) is NounPhrase:
            self.noun_phrase(agent, text, self.expressions["by"])
        self.place(clause.place, text)
        if not clause.time_first:
            self.time(clause.time, text)
        self.complement(clause, text)
        text.clauses.append((begin, len(text.texts)))

    def _relative(self, clause: Clause, text: Text) -> None:
        """Begin a relative clause."""
        if clause.antecedent is not None and clause.gap != "shared":
            word = {"owner": "whose", "place": "where"}.get(clause.gap, "that")
            if is_subject_gap(clause) and is_human(clause.antecedent):
                word = "who"
            text.add(_RELATIVES[word], clause.unit)

    def _verb(
        self,
        clause: Clause,
        group: Piece,
        object_: Participant | None,
        agent: Participant | None,
        text: Text,
    ) -> None:
        """Write the verb with its objects, what is said of the subject, and the manner."""
        unit, recipient, manner = clause.unit, clause.recipient, clause.manner
        separated = type(object_) is Pronoun and clause.verb.name in self._separable
        if separated:  # *wake me up*
            group, particle = _PARTS[group, len(group.texts) - 1]
        if manner is not None and _precedes_verb(clause, agent or object_ or clause.oblique):
            auxiliaries, group = _PARTS[group, _first_verb(group)]
            text.add(auxiliaries, unit)
            self.adverbial(manner, text)
            manner = None
        text.add(group, unit)
        gives = type(object_) is NounPhrase and clause.verb.name in self._giving
        if gives and type(recipient) is Pronoun:  # *gives me the book*
            self._participant(recipient, RECIPIENT, clause, text)
            recipient = None
        self._participant(object_, OBJECT, clause, text)
        if separated:
            text.add(particle, unit)
        if recipient is not None:
            text.add(_TO, unit)
            self._participant(recipient, RECIPIENT, clause, text)
        self._participant(clause.oblique, OBJECT, clause, text)
        if clause.adjective is not None:
            name = clause.adjective.name
            text.add(self.graded(clause, name, self._comparatives.get(name)), unit)
            self.standard(clause, text)
        self.adverbial(manner, text)

    def _group(self, key: _Key) -> Piece:
        verb, mode, person, asked = key
        forms = self._verbs[verb.name]
        modal = None if mode.modal is None else self._verbs.get(mode.modal.name)
        group = verb_group(forms, mode, person, modal, asked)
        return group if forms.preposition or asked else without_preposition(verb, group)

    def _participant(
        self,
        written: Participant | None,
        role: int,
        clause: Clause,
        text: Text,
        is_subject: bool = False,
    ) -> None:
        if type(written) is NounPhrase:
            self.noun_phrase(written, text)
        elif written is not None:
            text.add(self._pronouns[written, is_subject, role], clause.unit)

    @override
    def noun_phrase(self, phrase: NounPhrase, text: Text, before: Piece = EMPTY) -> None:
        if before is not EMPTY:
            text.add(before, phrase.unit)
        if phrase.owner is not None:
            text.add(self._owners[phrase.owner.core], phrase.owner.unit)
        text.add(self._cores[phrase.core], phrase.unit)
        if phrase.beside is not None:
            text.add(_AND, phrase.unit)
            text.add(self._cores[phrase.beside.core], phrase.beside.unit)
        self.place(phrase.attribute, text)
        if phrase.relative is not None:
            self.clause(phrase.relative, text, SUBORDINATE)

    @override
    def date(self, date: Dated) -> str:
        return f"on {date.day} {MONTHS[date.month - 1]} {date.year}"

    def _core(self, core: Core, ending: str = "", role: tuple[int, ...] = (NOUN,)) -> Piece:
        noun = core.noun.name.partition(":")[0]
        if core.plural:
            noun = self._plurals.get(noun) or morphology.plural(noun)
        words = [*[adjective.name for adjective in core.adjectives], noun + ending]
        roles = (*ADJECTIVES[: len(core.adjectives)], role)
        return determined(_determiner(core, words[0]), words, roles)


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


def _parts(group_and_end: tuple[Piece, int]) -> tuple[Piece, Piece]:
    """Return the words of a group before the word ``end``, and the others."""
    group, end = group_and_end
    texts, roles = group.texts, group.roles
    return Piece(texts[:end], roles[:end]), Piece(texts[end:], roles[end:])


_PARTS = Cache(_parts)


def _first_verb(group: Piece) -> int:
    """Return the number of the first word of a group that is no auxiliary."""
    return next(word for word, roles in enumerate(group.roles) if VERB in roles)


def _precedes_verb(clause: Clause, following: Participant | None) -> bool:
    """Return whether an adverb of manner stands before the verb (*reluctantly obeys the king*).

    It does so before a noun phrase, but not behind a relative clause, whose verb it would seem to
    belong to (*the man who called quickly opened the door*).
    """
    mode, subject = clause.mode, subject_of(clause)
    if mode.negation or not (mode.modal is None or mode.modal.name == "can"):
        return False
    if type(subject) is NounPhrase and subject.relative is not None and not clause.gap:
        return False
    return type(following) is NounPhrase


def _pronoun(key: tuple[Pronoun, bool, int]) -> Piece:
    pronoun, subject, role = key
    forms = _PRONOUNS[person_or_gender(pronoun)]
    return token(forms[0 if subject else 2 if pronoun.reflexive else 1], role)
