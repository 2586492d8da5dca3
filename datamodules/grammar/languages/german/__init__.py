"""German."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from typing_extensions import override

from datamodules.grammar.languages.german.nouns import (
    ACCUSATIVE,
    CASES,
    DATIVE,
    GENITIVE,
    NOMINATIVE,
    GermanNouns,
)
from datamodules.grammar.languages.german.phrases import (
    PRONOUNS,
    RELATIVE,
    Phrases,
    preposition,
    pronominal_adverb,
    pronoun,
    reflexive,
    relative,
    verbal,
)
from datamodules.grammar.languages.german.verbs import (
    BARE,
    Complements,
    GermanVerb,
    Government,
    VerbPieces,
    complements_of,
    follows_adverb,
    is_heavy,
    meant,
    modal_forms,
    negated_object,
    verb_group,
)
from datamodules.grammar.languages.language import (
    EMPTY,
    NOT,
    OBJECT,
    OFTEN,
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
    graded,
    is_topic,
    piece,
    read_sections,
    subject_of,
)
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    Adverbial,
    Clause,
    Core,
    Dated,
    Noun,
    NounPhrase,
    Participant,
    Place,
    Prepositional,
    Pronoun,
    Time,
    Verb,
)

_NEGATIONS = {"not": piece([("nicht", (NOT,))]), "never": piece([("nie", (NOT,))])}
_VERB_OF_CASE = {ACCUSATIVE: "see:transitive", DATIVE: "help"}
_THAT = piece([("dass", (THAT,))])


class German(Phrases):
    """German: the finite verb second, or last in subordinate clauses; other verbs at the end."""

    code = "de"
    orders = (
        ("particle", "front", "finite", "middle_after_front", "right", "after"),
        ("finite", "subject", "middle", "right", "after"),
        ("introduction", "middle", "last", "after"),
    )

    def __init__(self) -> None:
        sections = read_sections(__package__)
        super().__init__(sections)
        self.first_conjunctions = frozenset(sections["first_conjunctions"])
        self._often = {
            name: piece((word, (OFTEN,)) for word in self.expressions[name].texts)
            for name in sections["expressions"]
        }
        self._verbs = {name: GermanVerb.of(*cells) for name, cells in sections["verbs"].items()}
        self._groups: Cache[tuple[Verb, str, str | None, int], VerbPieces] = Cache(self._group)

    @override
    def conjunction(self, conjunction: Adverbial, clause: Clause, text: Text) -> None:
        name, mode = conjunction.expression.name, clause.mode
        if "subordinating" in conjunction.expression.kinds:
            text.comma()
        if name == "when" and mode.tense == "past" and not mode.habit:
            name = "when:once"
        text.add(self.expressions[name], conjunction.unit)

    @override
    @cached_property
    def separable_verbs(self) -> Mapping[str, tuple[str, str]]:
        return {
            name: (forms.infinitive, forms.prefix)
            for name, forms in self._verbs.items()
            if forms.prefix
        }

    @override
    def verb_of_another_case(self, verb: Verb) -> Verb | None:
        forms = self._verbs[verb.name]
        if verb.frame != "transitive" or forms.government.preposition or forms.reflexive:
            return None
        other = DATIVE if forms.government.case == ACCUSATIVE else ACCUSATIVE
        return replace(verb, name=_VERB_OF_CASE[other])

    # Parts of a clause.

    def introduction(self, clause: Clause, text: Text) -> None:
        """Begin a subordinate clause: with a relative pronoun, or with the subject."""
        if clause.gap:
            self._relative_pronoun(clause, text)
        if clause.gap != "subject":
            self.subject(clause, text)

    def front(self, clause: Clause, text: Text) -> None:
        """Write what stands before the finite verb: a time that sets the frame, or the subject."""
        if is_topic(clause):
            self.time(clause, text)
        else:
            self.subject(clause, text)

    def subject(self, clause: Clause, text: Text) -> None:
        """Write the subject."""
        subject, role = self._subject(clause)
        if isinstance(subject, NounPhrase):
            self.noun_phrase(subject, text)
        else:
            text.add(pronoun(self._person(subject), NOMINATIVE, role), clause.unit)

    def finite(self, clause: Clause, text: Text) -> None:
        """Write the finite verb of a main clause."""
        text.add(self._group_of(clause).finite, clause.unit)

    def middle_after_front(self, clause: Clause, text: Text) -> None:
        """Write the middle field, without what stands before the finite verb."""
        if is_topic(clause):
            self.subject(clause, text)
        self._middle(clause, text, None if is_topic(clause) else clause.time)

    def middle(self, clause: Clause, text: Text) -> None:
        """Write the middle field: what stands between the halves of the verbal bracket."""
        self._middle(clause, text, clause.time)

    def right(self, clause: Clause, text: Text) -> None:
        """Write the right half of the bracket in a main clause."""
        text.add(self._group_of(clause).right, clause.unit)

    def last(self, clause: Clause, text: Text) -> None:
        """Write the verbs at the end of a subordinate clause."""
        group = self._group_of(clause)
        if group.infinitive.texts and not self._has_infinitive_clause(clause):
            text.add(group.infinitive, clause.unit)
        text.add(group.last, clause.unit)

    def after(self, clause: Clause, text: Text) -> None:
        """Write what follows the bracket: infinitive clause, heavy relative clause, *dass*."""
        complements = complements_of(clause, self._verbs[clause.verb.name])
        if self._has_infinitive_clause(clause):
            text.comma()
            self._pronouns(clause, text, complements)
            self._objects(clause, text, complements, EMPTY)
            text.add(self._group_of(clause).infinitive, clause.unit)
            text.comma()
        objects = [*complements.phrases, *complements.prepositional]
        for phrase, _ in objects:
            if isinstance(phrase, NounPhrase) and phrase.relative and is_heavy(phrase.relative):
                self._relative(phrase, text)
        if clause.complement is not None:
            text.comma()
            text.add(_THAT, clause.unit)
            self.clause(clause.complement, text, SUBORDINATE)
            text.comma()

    # The middle field.

    def _middle(self, clause: Clause, text: Text, time: Time | None) -> None:
        """Write pronouns, time, objects with the negation, manner, place and quality.

        Before an infinitive clause, which has the objects, only time and negation stand here.
        """
        apart = self._has_infinitive_clause(clause)
        complements = complements_of(clause, self._verbs[clause.verb.name])
        adverb = self._adverb(clause, complements)
        if clause.mode.modal is not None:
            self._reflexive(clause, clause.mode.modal, text)
        if not apart:
            self._pronouns(clause, text, complements)
        if time is not None:
            self.time(clause, text)
        if apart:
            text.add(adverb, clause.unit)
        else:
            self._objects(clause, text, complements, adverb)

    def _has_infinitive_clause(self, clause: Clause) -> bool:
        """Return whether the infinitive stands in a clause of its own (*versucht, ihn zu sehen*).

        A relative pronoun that is its object keeps the infinitive (*den er zu sehen versucht*).
        """
        return clause.gap != "object" and bool(self._group_of(clause).infinitive.texts)

    def _pronouns(self, clause: Clause, text: Text, complements: Complements) -> None:
        for written, case, role in complements.pronouns:
            text.add(pronoun(self._person(written), case, role), clause.unit)
        self._reflexive(clause, clause.verb, text)

    def _reflexive(self, clause: Clause, verb: Verb, text: Text) -> None:
        forms = self._verbs.get(verb.name)
        if forms is not None and forms.reflexive is not None:
            person = self._subject(clause)[0].person
            text.add(reflexive(person, forms.reflexive), clause.unit)

    def _objects(self, clause: Clause, text: Text, complements: Complements, adverb: Piece) -> None:
        """Write the objects with an adverb (*nicht*, *nie*, *oft*), and the circumstances."""
        negated = negated_object(clause, complements)
        for phrase, case in complements.phrases:
            if follows_adverb(phrase, clause):
                text.add(adverb, clause.unit)
                adverb = EMPTY
            by = clause if phrase is negated else None
            self._noun_phrase(phrase, text, case, negated_by=by, light=True)
        text.add(adverb, clause.unit)
        self.manner(clause, text)
        self.place(clause, text)
        for participant, government in complements.prepositional:
            by = clause if participant is negated else None
            self._prepositional(participant, government, clause, text, by)
        if clause.adjective is not None:
            degree = "" if clause.degree is None else self.expressions[clause.degree.name].texts[0]
            text.add(graded(self._words.quality(clause.adjective.name), degree), clause.unit)

    def _adverb(self, clause: Clause, complements: Complements) -> Piece:
        """Return *nicht*, *nie* or an adverb of frequency; *nicht* may be part of *kein*."""
        mode = clause.mode
        if mode.negation:
            negated = negated_object(clause, complements)
            return _NEGATIONS[mode.negation] if negated is None else EMPTY
        return EMPTY if mode.adverb is None else self._often[mode.adverb.name]

    def _prepositional(
        self,
        participant: Participant,
        government: Government,
        clause: Clause,
        text: Text,
        negated_by: Clause | None,
    ) -> None:
        """Write an object with its preposition, which another language may have in its verb."""
        word = government.preposition
        if isinstance(participant, NounPhrase):
            if participant is clause.object:
                text.add(verbal(word), clause.unit)
                before = EMPTY
            else:
                before = preposition(word)
            case = government.case
            self._noun_phrase(participant, text, case, before, negated_by, light=True)
        elif participant.noun is not None and participant.noun.kind not in ANIMATE:
            text.add(pronominal_adverb(word), clause.unit)
        else:
            text.add(verbal(word), clause.unit)
            person = self._person(participant)
            text.add(pronoun(person, government.case, OBJECT), clause.unit)

    # Smaller pieces.

    def _relative_pronoun(self, clause: Clause, text: Text) -> None:
        antecedent = clause.antecedent
        assert antecedent is not None
        gender = "p" if antecedent.core.plural else self._words.gender(antecedent.core.noun)
        if clause.gap == "subject":
            text.add(relative(gender, NOMINATIVE, ""), clause.unit)
        else:
            governed = self._verbs[clause.verb.name].government
            text.add(relative(gender, *governed), clause.unit)

    def _subject(self, clause: Clause) -> tuple[Participant, int]:
        """Return the subject with its role; verbs like *gefallen* have the object as subject."""
        if self._verbs[clause.verb.name].inverse:
            assert clause.object is not None
            return clause.object, OBJECT
        return subject_of(clause), SUBJECT

    def _group_of(self, clause: Clause) -> VerbPieces:
        """Return the verbs of a clause; states and modal verbs have no Perfekt in the past."""
        mode = clause.mode
        highest = mode.modal or clause.verb
        tense = mode.tense
        if tense == "past" and not (mode.simple or highest.state or highest.name in BARE):
            tense = "perfect"
        modal = None if mode.modal is None else meant(mode.modal.name, mode.negation)
        return self._groups[clause.verb, tense, modal, self._subject(clause)[0].person]

    def _group(self, key: tuple[Verb, str, str | None, int]) -> VerbPieces:
        verb, tense, modal, person = key
        forms = None
        if modal is not None:
            forms = modal_forms(modal) or self._verbs[modal]
        return verb_group(self._verbs[verb.name], tense, person, forms)
