"""German."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from typing_extensions import override

from datamodules.grammar.languages.german.complements import (
    BY,
    Complement,
    Complements,
    complements_of,
    is_dative_first,
    is_extended,
)
from datamodules.grammar.languages.german.nouns import ACCUSATIVE, DATIVE, GENITIVE, NOMINATIVE
from datamodules.grammar.languages.german.phrases import (
    Phrases,
    pronominal_adverb,
    pronoun,
    relative,
)
from datamodules.grammar.languages.german.verbs import (
    GermanVerb,
    Government,
    VerbPieces,
    verb_group,
)
from datamodules.grammar.languages.language import (
    EMPTY,
    GOVERN,
    INVERTED,
    MAIN,
    NOT,
    OBJECT,
    OFTEN,
    PLACE_GAP,
    POSSIBLE,
    SUBJECT,
    SUBORDINATE,
    THAT,
    VERB,
    WHO,
    Cache,
    Piece,
    Text,
    governing,
    is_thing,
    is_topic,
    is_whose,
    subject_and_role,
    token,
    without_preposition,
)
from datamodules.grammar.meaning.phrases import (
    THIRD_PLURAL,
    Adverbial,
    Clause,
    NounPhrase,
    Participant,
    Pronoun,
    Time,
    Verb,
)

_NEGATIONS = {"not": token("nicht", NOT), "never": token("nie", NOT)}
_DATIVE, _TOWARDS = Government(DATIVE), Government(DATIVE, "zu")
_INTO = Government(ACCUSATIVE, "in")
_LIKE_SUBJECTS = ("f", "n", THIRD_PLURAL)  # *sie* and *es* may be nominatives


@dataclass(slots=True, eq=False)
class Parts:
    """What a clause is made of in German."""

    clause: Clause
    subject: Participant  # the subject, or the dative that stands in its place
    case: int  # case of the subject
    role: int  # what a pronoun plays as the subject
    person: int  # person of the finite verb
    verb: GermanVerb
    modal: GermanVerb | None
    group: VerbPieces
    complements: Complements
    apart: bool  # whether the infinitive is in a clause of its own (*versucht, ihn zu sehen*)


class German(Phrases):
    """German: the finite verb second, or last in subordinate clauses; other verbs at the end."""

    code = "de"
    that = token("dass", THAT)

    def __init__(self) -> None:
        super().__init__()
        verbs = self.sections["verbs"]
        self._verbs = {name: GermanVerb.of(*cells) for name, cells in verbs.items()}
        self._inside = self.sections["inside"]
        self._groups = Cache(self._group)

    @override
    def conjunction(self, conjunction: Adverbial, clause: Clause, text: Text, order: int) -> None:
        name, mode = conjunction.expression.name, clause.mode
        if name == "but" or "subordinating" in conjunction.expression.kinds:
            text.comma()
        if name == "when" and mode.tense == "past" and not mode.habit:
            name = "when:once"
        text.add(self.expressions[name], conjunction.unit)

    @override
    @cached_property
    def separable_verbs(self) -> Mapping[str, tuple[str, str]]:
        separable = ((name, verb) for name, verb in self._verbs.items() if verb.prefix)
        return {name: (verb.infinitive, verb.prefix) for name, verb in separable}

    @override
    def verb_of_another_case(self, verb: Verb) -> Verb | None:
        forms = self._verbs[verb.name]
        if verb.frame != "transitive" or forms.government.preposition or forms.reflexive:
            return None
        accusative = forms.government.case == ACCUSATIVE
        return replace(verb, name="help" if accusative else "see:transitive")

    @override
    def clause(self, clause: Clause, text: Text, order: int) -> None:
        begin = len(text.texts)
        parts = self._parts(clause)
        group = parts.group
        first: Participant | Time | None
        if order == SUBORDINATE:
            first = self._introduction(parts, text)
        else:
            if order == MAIN:
                self.particle(clause.particle, text)
            first = self._front(parts, text, order)
            text.add(group.finite, clause.unit)
        self._middle(parts, text, first, order == SUBORDINATE)
        if group.infinitive is not EMPTY and not parts.apart:
            text.add(group.infinitive, clause.unit)
        text.add(group.last if order == SUBORDINATE else group.right, clause.unit)
        self._after(parts, text)
        text.clauses.append((begin, len(text.texts)))

    # Parts of a clause, in their order.

    def _front(self, parts: Parts, text: Text, order: int) -> Participant | Time | None:
        """Write what stands before the finite verb, if anything.

        Returns the subject or the time if the middle field lacks it for this reason.
        """
        clause = parts.clause
        if clause.gap == "shared":
            return parts.subject
        if clause.question:
            return self._asked(parts, text)
        if order == INVERTED:
            return None
        topic = is_topic(clause) and not _runs_on(parts)
        # In the middle field, no long subject stands before a pronoun.
        if topic and (self._follows_pronouns(parts, False) or not is_extended(parts.subject)):
            self.time(clause.time, text)
            return clause.time
        self._subject(parts, text)
        return parts.subject

    def _asked(self, parts: Parts, text: Text) -> Participant | None:
        """Write *wer*, *was*, *worauf* or *wo*; return the subject if it is asked for."""
        clause = parts.clause
        inverse, (case, preposition) = clause.verb.frame == "inverse", parts.verb.government
        match clause.question:
            case "who":
                text.add(pronoun("who", DATIVE if inverse else NOMINATIVE, SUBJECT), clause.unit)
            case "what" if preposition:
                text.add(pronominal_adverb("wo", preposition), clause.unit)
            case "what":
                text.add(pronoun("what", case, OBJECT), clause.unit)
            case "where":
                text.add(token("wo", PLACE_GAP), clause.unit)
        return parts.subject if clause.question == ("what" if inverse else "who") else None

    def _introduction(self, parts: Parts, text: Text) -> Participant | None:
        """Begin a relative clause; return the subject if it stands there."""
        clause, gap, antecedent = parts.clause, parts.clause.gap, parts.clause.antecedent
        if antecedent is None:
            return None
        gender = "p" if antecedent.plural else self._words.gender(antecedent.core.noun)
        subject, owns, role = parts.subject, gap == "owner", GOVERN
        case, preposition = parts.verb.government
        begins = subject is antecedent or (owns and is_whose(subject))
        if begins:
            case, preposition = NOMINATIVE, ""
        elif gap == "place":
            preposition = "an" if antecedent.core.noun.name in self._at else "in"
            case, role = DATIVE, WHO + POSSIBLE
        if preposition:
            text.add(token(preposition, role), clause.unit)
        text.add(relative(gender, GENITIVE if owns else case), clause.unit)
        if owns:
            owned = subject if begins else clause.oblique or clause.object
            assert type(owned) is NounPhrase
            self.noun_phrase(owned, text, case=case)
        return subject if begins else None

    def _middle(
        self, parts: Parts, text: Text, first: Participant | Time | None, subordinate: bool
    ) -> None:
        """Write subject, pronouns, time, objects with the negation, manner, place and quality.

        What stands ``first`` in the clause is left out. Before an infinitive clause, which has
        the objects, only subject, time and negation stand here.
        """
        clause, waits = parts.clause, first is not parts.subject
        late = waits and self._follows_pronouns(parts, subordinate)
        if waits and not late:
            self._subject(parts, text)
        self._reflexive(parts, parts.modal, text)
        if not parts.apart:
            self._pronouns(parts, text)
        if late:
            self._subject(parts, text)
        if clause.time is not first:
            self.time(clause.time, text)
        if parts.apart:
            text.add(self._adverb(parts), clause.unit)
        else:
            self._objects(parts, text, self._adverb(parts))

    def _follows_pronouns(self, parts: Parts, subordinate: bool) -> bool:
        """Return whether a subject in the middle field stands behind the pronouns.

        A noun phrase does (*Montags sieht mich der Mann*), but not where the pronoun would be
        taken for the subject (*Montags sieht die Frau sie*). In subordinate clauses, only a phrase
        to which something is added does, and any phrase with the pronoun of a reflexive verb.
        """
        subject = parts.subject
        if type(subject) is not NounPhrase:
            return False
        if subordinate and parts.verb.reflexive is None and not is_extended(subject):
            return False
        core = subject.core
        shows_case = bool(core.determiner) and not subject.plural
        if shows_case and self._words.gender(core.noun) == "m":
            return True
        return all(
            each.government.case == DATIVE or self._person(each.participant) not in _LIKE_SUBJECTS
            for each in parts.complements.pronouns
        )

    def _after(self, parts: Parts, text: Text) -> None:
        """Write what follows the bracket: infinitives, *als* or *wie*, heavy clauses, *dass*."""
        clause = parts.clause
        if parts.apart:
            before = len(text.texts)
            text.comma()
            begin = len(text.texts)
            self._pronouns(parts, text)
            self._objects(parts, text, EMPTY)
            alone = begin == len(text.texts)
            if alone:
                del text.texts[before:]  # no comma of its own (*versucht zu schlafen*)
            text.add(parts.group.infinitive, clause.unit)
            if not alone:
                text.comma()
        self.standard(clause, text)
        for phrase in parts.complements.moved:
            self._relative(phrase, text)
        if clause.complement is not None:
            text.comma()
            self.complement(clause, text)
            text.comma()

    # Smaller pieces.

    def _subject(self, parts: Parts, text: Text) -> None:
        subject = parts.subject
        if type(subject) is NounPhrase:
            self.noun_phrase(subject, text, case=parts.case)
        else:
            text.add(pronoun(self._person(subject), NOMINATIVE, parts.role), parts.clause.unit)

    def _pronouns(self, parts: Parts, text: Text) -> None:
        for each in parts.complements.pronouns:
            form = pronoun(self._person(each.participant), each.government.case, each.role)
            text.add(form, parts.clause.unit)
        self._reflexive(parts, parts.verb, text)

    def _reflexive(self, parts: Parts, verb: GermanVerb | None, text: Text) -> None:
        """Write the pronoun of a reflexive verb, which plays a part of the verb."""
        if verb is not None and verb.reflexive is not None:
            own = self._person(Pronoun(parts.person, reflexive=True))
            text.add(pronoun(own, verb.reflexive, VERB + POSSIBLE), parts.clause.unit)

    def _objects(self, parts: Parts, text: Text, adverb: Piece) -> None:
        """Write the objects with an adverb (*nicht*, *nie*, *oft*), and the circumstances."""
        clause, found = parts.clause, parts.complements
        there = type(clause.place) is Adverbial and clause.verb.frame != "be"
        if there:
            self.place(clause.place, text)
        for number in range(len(found.phrases) + 1):
            if number == found.adverb and adverb is not EMPTY:
                text.add(adverb, clause.unit)
            if number == found.circumstances:
                self.adverbial(clause.manner, text)
                if not there:
                    self.place(clause.place, text)
            if number < len(found.phrases):
                self._complement(found.phrases[number], parts, text)
        for each in found.prepositional:
            self._complement(each, parts, text)
        if clause.adjective is not None:
            forms = self._words.degrees(clause.adjective.name)
            text.add(self.graded(clause, *forms), clause.unit)

    def _adverb(self, parts: Parts) -> Piece:
        """Return *nicht*, *nie* or an adverb of frequency; *nicht* may be part of *kein*."""
        mode = parts.clause.mode
        if mode.negation:
            return _NEGATIONS[mode.negation] if parts.complements.negated is None else EMPTY
        often = () if mode.adverb is None else self.expressions[mode.adverb.name].texts
        return Piece(often, ((OFTEN,),) * len(often)) if often else EMPTY

    def _complement(self, written: Complement, parts: Parts, text: Text) -> None:
        clause, found, participant = parts.clause, parts.complements, written.participant
        case, preposition = written.government
        if type(participant) is NounPhrase:
            before = EMPTY
            if written.government is BY:
                before = self.expressions["by"]
            elif preposition:
                text.add(governing(preposition), clause.unit)
            by = clause if participant is found.negated else None
            self.noun_phrase(participant, text, before, case, by, participant in found.moved)
        elif is_thing(participant.noun):
            text.add(pronominal_adverb("da", preposition), clause.unit)
        else:
            text.add(governing(preposition), clause.unit)
            text.add(pronoun(self._person(participant), case, written.role), clause.unit)

    def _parts(self, clause: Clause) -> Parts:
        mode, verb = clause.mode, self._forms(clause)
        modal = None if mode.modal is None else self._verbs[mode.modal.name]
        bare = modal is not None and modal.bare
        tense = "unreal" if mode.tense == "supposed" else mode.tense
        if tense == "past" and not (mode.habit or bare or (mode.modal or clause.verb).state):
            tense = "perfect"  # else one word: of habits, states, and modal verbs
        if modal is self._verbs["must"] and mode.negation and tense == "present":
            modal = self._verbs["may"]  # *must not* is *darf nicht*; *muss nicht* means no need
        subject, role = subject_and_role(clause)
        person, case = subject.person, NOMINATIVE
        if is_dative_first(clause):
            assert clause.subject is not None
            subject, case = clause.subject, DATIVE
        group = self._groups[clause.verb, tense, modal, person, mode.passive]
        complements = complements_of(clause, verb, may_deny=bare or modal is None)
        apart = group.infinitive is not EMPTY and not _begins_with_object(clause, subject)
        return Parts(clause, subject, case, role, person, verb, modal, group, complements, apart)

    def _forms(self, clause: Clause) -> GermanVerb:
        """Return the forms of a verb; one goes *in den Wald*, but *zum Haus*."""
        forms, goal = self._verbs[clause.verb.name], clause.oblique or clause.antecedent
        goes = clause.verb.frame == "motion" and forms.government == _TOWARDS
        if goes and type(goal) is NounPhrase and self._is_entered(goal):
            return replace(forms, government=_INTO)
        return forms

    def _is_entered(self, goal: NounPhrase) -> bool:
        beside = goal.beside is None or self._is_entered(goal.beside)
        return beside and goal.core.noun.name in self._inside

    def _group(self, key: tuple[Verb, str, GermanVerb | None, int, bool]) -> VerbPieces:
        verb, tense, modal, person, passive = key
        group = verb_group(self._verbs[verb.name], tense, person, modal, passive)
        if self._verbs[verb.name].government.preposition:
            return group
        return VerbPieces(*[without_preposition(verb, each) for each in group])


def _runs_on(parts: Parts) -> bool:
    """Return whether a complement would seem to belong to a subject before it.

    (*hat der Bäcker Paul gesehen*, *ein Fan von Paul geträumt*, *der Vater der Frau geholfen*)
    """
    if parts.clause.time_first or type(parts.subject) is not NounPhrase:
        return False
    found = parts.complements
    return any(
        each.government in (BY, _DATIVE)
        or (type(each.participant) is NounPhrase and each.participant.core.noun.kind == "name")
        for each in [*found.phrases, *found.prepositional]
    )


def _begins_with_object(clause: Clause, subject: Participant) -> bool:
    """Return whether a relative pronoun or question word is an object, or belongs to one."""
    if clause.gap == "owner":
        return not is_whose(subject)
    return clause.gap in ("object", "oblique") or clause.question == "what"
