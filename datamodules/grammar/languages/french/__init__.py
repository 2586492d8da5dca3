"""French."""

from typing_extensions import override

from datamodules.grammar.languages.french.phrases import Phrases
from datamodules.grammar.languages.french.verbs import Agreement, FrenchVerb, verb_group
from datamodules.grammar.languages.language import (
    ASK,
    GOVERN,
    INFINITIVE,
    OBJECT,
    PLACE_GAP,
    POSSIBLE,
    PREPOSITION,
    RECIPIENT,
    SUBJECT,
    SUBORDINATE,
    THAT,
    VERB,
    Cache,
    Piece,
    Roles,
    Text,
    Word,
    governing,
    is_subject_gap,
    is_thing,
    is_topic,
    piece,
    subject_and_role,
    token,
    without_preposition,
)
from datamodules.grammar.meaning.phrases import (
    Adjective,
    Adverbial,
    Clause,
    Expression,
    Mode,
    NounPhrase,
    Participant,
    Prepositional,
    Pronoun,
    Verb,
    subject_of,
)

_THERE = Piece((), ((0,),))  # what *y* plays in the unit of a place
_ASK: list[Word] = [("est-ce", (ASK + POSSIBLE,)), ("que", (ASK + POSSIBLE,))]
_QUESTIONS = {
    "whether": piece(_ASK), "who": token("qui", SUBJECT),
    "what": piece([("que", (OBJECT,)), *_ASK]), "where": piece([("où", (PLACE_GAP,)), *_ASK]),
}  # fmt: skip
_GOVERNING = (OBJECT, GOVERN)  # roles of a pronoun that holds the preposition of the verb
_TO_PERSON: Roles = (RECIPIENT, GOVERN)
_REFLEXIVE: Word = ("se", (VERB + POSSIBLE,))  # of a verb that has it in French
_Y: Word = ("y", ())
_WITH_PARTICIPLE = ("past", "perfect")  # tenses that may have one, which agrees in gender
_PLAIN = [Agreement(person, "m") for person in range(4)]
_GroupKey = tuple[Verb, bool, Mode, Agreement, tuple[Word, ...], Agreement | None]


class French(Phrases):
    """French: clitics before the verb, most adjectives after the noun, times of a frame first."""

    code = "fr"
    that = token("que", THAT)

    def __init__(self) -> None:
        super().__init__()
        sections = self.sections
        self._verbs: dict[tuple[str, bool], FrenchVerb] = {}  # by name, or of its synonym
        for name, cells in sections["verbs"].items():
            infinitive, preposition, synonym = (*cells, "", "")[:3]
            self._verbs[name, False] = FrenchVerb.of(infinitive, preposition)
            self._verbs[name, True] = FrenchVerb.of(synonym or infinitive, preposition)
        self._datives, self._pronominal = sections["datives"], sections["pronominal"]
        self._at, self._inside = sections["at"], sections["inside"]
        self._groups = Cache(self._group)
        self._pronouns = Cache(self._pronoun)

    @override
    def conjunction(self, conjunction: Adverbial, clause: Clause, text: Text, order: int) -> None:
        infinitive = ":infinitive" * (order == INFINITIVE)
        text.add(self.expressions[conjunction.expression.name + infinitive], conjunction.unit)

    @override
    def clause(self, clause: Clause, text: Text, order: int) -> None:
        begin, object_, mode = len(text.texts), clause.object, clause.mode
        self.particle(clause.particle, text)
        topic = order < SUBORDINATE and is_topic(clause)
        if topic:
            self.time(clause.time, text)
            text.comma()
        if order == INFINITIVE:
            subject, mode = subject_of(clause), mode._replace(tense="infinitive")
        else:
            subject = self._subject(clause, text)
        agreement = self.agreement(subject)
        self._verb(clause, mode, agreement, text)
        if clause.adjective is not None:
            self._quality(clause, clause.adjective, agreement, text)
        denied = _is_denied(object_)
        if not denied:
            self.adverbial(clause.manner, text)
        early = not topic and self._precedes_object(clause, subject)
        if early:
            self.time(clause.time, text)
        if type(object_) is NounPhrase and object_ is not subject:
            self.noun_phrase(object_, text)
        if denied:
            self.adverbial(clause.manner, text)  # never *pas lentement de pain*
        if clause.subject is not subject and type(clause.subject) is NounPhrase:
            before = self.expressions["by"] if clause.mode.passive else _TO_WHOM
            self.noun_phrase(clause.subject, text, before)
        if type(clause.recipient) is NounPhrase:
            self.noun_phrase(clause.recipient, text, _TO, clause.unit)
        if clause.oblique is not None:
            self._oblique(clause, clause.oblique, text)
        if type(clause.place) is Prepositional:
            self._place(clause.place, text)  # *y* is a clitic
        if not (topic or early):
            self.time(clause.time, text)
        self.complement(clause, text)
        text.clauses.append((begin, len(text.texts)))

    def _precedes_object(self, clause: Clause, subject: Participant) -> bool:
        """Return whether a time at the end would follow an adjective (*la robe mouillée hier*)."""
        if clause.time is None or clause.place is not None:
            return False
        written = clause.oblique, clause.recipient, clause.subject, clause.object
        for phrase in written:
            if type(phrase) is NounPhrase and phrase is not subject:
                last = phrase.attribute.phrase if phrase.attribute else phrase.beside or phrase
                return phrase.relative is None and self._words.ends_in_state(last.core)
        return False

    def _subject(self, clause: Clause, text: Text) -> Participant:
        """Begin a clause and write its subject, if it has one; return what the verb agrees with."""
        subject, role = subject_and_role(clause)
        if clause.gap:
            if clause.gap == "shared":
                return subject
            text.add(self.relative(clause, self._preposition(clause)), clause.unit)
            if is_subject_gap(clause):
                return subject
        if clause.question:
            text.add(_QUESTIONS[clause.question], clause.unit)
            if clause.question == "who":
                return subject
        if type(subject) is NounPhrase:
            self.noun_phrase(subject, text)
        else:
            text.add(self._pronouns[subject, "subject", role], clause.unit)
        return subject

    def _verb(self, clause: Clause, mode: Mode, agreement: Agreement, text: Text) -> None:
        """Write the verb with its auxiliaries, negation and clitics."""
        object_, oblique, agreed = clause.object, clause.oblique, None
        recipient, roles = clause.recipient, _TO_PERSON
        clitics: tuple[Word, ...] = ()
        if clause.verb.name in self._pronominal:
            clitics = (_REFLEXIVE,)
        if clause.verb.frame == "inverse":
            recipient, roles = clause.subject, (SUBJECT,)
        elif not mode.passive:
            before: Participant | None = clause.antecedent if clause.gap == "object" else None
            if type(object_) is Pronoun:
                clitics += ((self.form(object_, "object"), (OBJECT,)),)
                before = object_
            if before is not None and mode.tense in _WITH_PARTICIPLE:
                agreed = self.agreement(before)
        if not (mode.passive or mode.tense in _WITH_PARTICIPLE):
            agreement = _PLAIN[agreement.person]
        if type(recipient) is Pronoun:
            clitics += ((self.form(recipient, "dative"), roles),)
        if type(oblique) is Pronoun:
            clitic = self._oblique_clitic(clause, oblique)
            clitics += ((clitic, _GOVERNING),) if clitic else ()
        there = clause.place
        if type(there) is Adverbial:
            clitics += (_Y,)
        group = self._groups[clause.verb, clause.synonym, mode, agreement, clitics, agreed]
        if type(there) is Adverbial:
            text.pieces.append((_THERE, there.unit, len(text.texts) + group.texts.index("y")))
        text.add(group, clause.unit)

    def _oblique_clitic(self, clause: Clause, pronoun: Pronoun) -> str:
        """Return *y*, *en* or a dative for a pronoun after a preposition, or nothing."""
        if is_thing(pronoun.noun):
            return {"à": "y", "de": "en"}[self._preposition(clause).texts[0]]
        return self.form(pronoun, "dative") if clause.verb.name in self._datives else ""

    def _group(self, key: _GroupKey) -> Piece:
        verb, synonym, mode, subject, clitics, agreed = key
        forms = self._verbs[verb.name, synonym]
        if mode.adverb is not None:
            written = " ".join(self.expressions[mode.adverb.name].texts)
            mode = mode._replace(adverb=Expression(written))
        modal = None if mode.modal is None else self._verbs[mode.modal.name, False]
        group = verb_group(forms, modal, verb.state, mode, subject, clitics, agreed)
        return group if forms.preposition.texts else without_preposition(verb, group)

    def _oblique(self, clause: Clause, oblique: Participant, text: Text) -> None:
        """Write what follows the preposition of the verb, unless it is a clitic."""
        preposition = self._preposition(clause)
        if type(oblique) is NounPhrase:
            self.noun_phrase(oblique, text, preposition, clause.unit)
        elif not self._oblique_clitic(clause, oblique):
            text.add(preposition, clause.unit)
            text.add(self._pronouns[oblique, "tonic", OBJECT], clause.unit)

    def _preposition(self, clause: Clause) -> Piece:
        preposition = self._verbs[clause.verb.name, False].preposition
        if preposition is _TO and clause.verb.frame == "motion":
            goal = clause.oblique or clause.antecedent
            if type(goal) is NounPhrase and not self._is_reached(goal):
                return governing("dans")
        return preposition

    def _is_reached(self, goal: NounPhrase) -> bool:
        """Return whether one goes *à*: only to one definite goal, and to no district or forest."""
        return (
            _is_definite(goal)
            and not goal.core.plural
            and goal.core.noun.name not in self._inside
            and (goal.beside is None or self._is_reached(goal.beside))
        )

    def _place(self, place: Prepositional, text: Text) -> None:
        """Write where something happens: *au cinéma*, but *dans un cinéma*, *dans la maison*."""
        phrase = place.phrase
        at = place.preposition.name == "in" and phrase.core.noun.name in self._at
        if at and _is_definite(phrase) and not phrase.plural:
            self.noun_phrase(phrase, text, _TO_WHOM)
        else:
            self.place(place, text)

    def _quality(
        self, clause: Clause, adjective: Adjective, agreement: Agreement, text: Text
    ) -> None:
        """Write the adjective after *être*, with its degree, and what it is compared with."""
        subject = subject_of(clause)
        noun = subject.core.noun if type(subject) is NounPhrase else subject.noun
        forms = self._words.degrees(adjective, noun, agreement.gender, agreement.plural)
        text.add(self.graded(clause, *forms), clause.unit)
        self.standard(clause, text)

    def _pronoun(self, key: tuple[Pronoun, str, int]) -> Piece:
        pronoun, case, role = key
        return token(self.form(pronoun, case), role)


def _is_definite(phrase: NounPhrase) -> bool:
    return phrase.owner is not None or phrase.core.determiner in ("the", "this")


def _is_denied(participant: Participant | None) -> bool:
    """Return whether a participant is the object of a negated verb, with *de*."""
    if type(participant) is not NounPhrase:
        return False
    return participant.core.denied and participant.core.determiner in ("a", "some")


_TO = governing("à")
_TO_WHOM = token("à", PREPOSITION)  # of an inverse verb; *au cinéma*
