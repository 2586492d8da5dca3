"""Who and what take part in a clause: noun phrases, pronouns, agents, qualities."""

from typing import TYPE_CHECKING

from datamodules.grammar.drawing.circumstances import Circumstances
from datamodules.grammar.drawing.draws import Pool
from datamodules.grammar.drawing.noun_phrases import (
    PREDICATE_TRIES,
    NothingLeftError,
    kind_of,
    noun_of,
)
from datamodules.grammar.drawing.vocabulary import is_lasting
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    FIRST_PLURAL,
    FIRST_SINGULAR,
    HUMAN,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Clause,
    NounPhrase,
    Participant,
    Place,
    Prepositional,
    Pronoun,
    Verb,
    person_or_gender,
)

if TYPE_CHECKING:
    from datamodules.grammar.drawing.frames import ClausePlace

AGENT_SHARE = 0.6  # share of passives with an agent
REFLEXIVE_SHARE = 0.6  # share of *himself* among the pronouns that are objects of verbs like *wash*
TO_PRONOUN_SHARE = 0.6  # share of pronouns among recipients beside a pronoun: *gives it to me*

_HE, _SHE = Pronoun(THIRD_SINGULAR, gender="m"), Pronoun(THIRD_SINGULAR, gender="f")
_I, _WE, _THEY = Pronoun(FIRST_SINGULAR), Pronoun(FIRST_PLURAL), Pronoun(THIRD_PLURAL)
SPEAKERS = {FIRST_SINGULAR, FIRST_PLURAL}
FIRST_PERSONS: Pool[Pronoun] = Pool((_I, _WE), (3, 2))
_FREE: Pool[Pronoun] = Pool((_HE, _SHE, _I, _THEY, _WE), (3, 3, 3, 2, 2))


class Participants(Circumstances):
    """Writer of the participants of a clause."""

    def subject_pronoun(self, place: "ClausePlace") -> Pronoun | None:
        """Draw *I*, *we* or, in a first clause, *he*, *she* or *they* as a subject, or nothing."""
        if self.random() >= self.knobs.pronouns:
            return None
        return (_FREE if place.first else FIRST_PERSONS).draw(self.random)

    def participants(
        self, clause: Clause, frame: str, subject: Participant, place: "ClausePlace", host: bool
    ) -> None:
        """Draw the participants but the subject; a ``host`` holds a clause at its end."""
        verb = clause.verb
        negated = clause.mode.negation != ""
        possessor = None if place.gap == "owner" else subject
        if frame == "transitive" and (place.given or place.governs):
            clause.object = place.given
        elif frame in ("transitive", "ditransitive"):
            if not host:
                clause.object = self._pronoun(verb.objects, subject, place, verb)
            if clause.object is None:
                role = "denied object" if negated else "object"
                if negated and verb.state:  # not *does not love a woman*
                    role = "standard"
                clause.object = self.noun_phrase(verb.objects, role, possessor, host, verb)
            if frame == "ditransitive":
                self._give_recipient(clause, subject, place, negated)
        elif frame == "inverse":
            role = "denied other" if negated else "other"
            clause.object = self.noun_phrase(verb.objects, role)
        elif frame == "motion" or (frame == "prepositional" and not place.governs):
            if frame == "prepositional" and not host:
                clause.oblique = self._pronoun(verb.objects, subject, place, verb)
            if clause.oblique is None:
                role = "denied other" if negated else "oblique"
                one = frame == "motion"  # goes to one place
                role = "goal" if one else role
                number = False if one else None
                clause.oblique = self.noun_phrase(verb.objects, role, possessor, host, verb, number)
        elif frame == "quality":
            self._give_quality(clause, kind_of(subject), place)
        elif frame == "location":
            self.add_place(clause, 3, place.there)

    def _give_quality(self, clause: Clause, kind: str, place: "ClausePlace") -> None:
        """Draw a quality of a category that the sentence does not have yet."""
        passing = clause.mode.adverb is not None  # not *is often old*
        qualities = self.vocabulary.qualities
        table = place.qualities or qualities[kind, passing] or qualities[kind, False]
        assert table is not None
        if type(clause.subject) is NounPhrase:
            self.describe(*clause.subject.core.adjectives)
        for _ in range(PREDICATE_TRIES):
            quality = table.draw(self.random)
            if quality.category not in self.said:
                break
        else:
            raise NothingLeftError
        self.describe(quality)
        self.said.add("is")
        clause.adjective = quality
        if is_lasting(quality):
            clause.mode = clause.mode._replace(adverb=None)

    def _give_recipient(
        self, clause: Clause, subject: Participant, place: "ClausePlace", negated: bool
    ) -> None:
        """Draw to whom something is given; no pronoun beside *me* and *us*."""
        share = self.knobs.pronouns
        if type(clause.object) is Pronoun:
            share = 0 if clause.object.person in SPEAKERS else TO_PRONOUN_SHARE
        if self.random() < share:
            clause.recipient = self._person(subject, place)
        if clause.recipient is None:
            role = "denied other" if negated else "oblique"
            clause.recipient = self.noun_phrase(HUMAN, role, subject)

    def _pronoun(
        self, kinds: tuple[str, ...], subject: Participant, place: "ClausePlace", verb: Verb
    ) -> Pronoun | None:
        """Draw a pronoun, or nothing: *himself*, for the object of the clause before, for a person.

        Not every preposition has a pronoun for a thing in every language.
        """
        if self.random() >= self.knobs.pronouns:
            return None
        own_subject = place.gap in ("", "subject", "shared")
        alone = subject.person in (FIRST_SINGULAR, THIRD_SINGULAR)  # not *each other*
        if verb.reflexive and own_subject and alone and self.random() < REFLEXIVE_SHARE:
            return taken_up(subject)._replace(reflexive=True)
        before = place.object
        if before is not None and before.core.noun is not noun_of(subject):
            kind = kind_of(before)
            fits = kind in HUMAN or verb.frame != "prepositional" or verb.thing
            if fits and kind in kinds and not clashes(subject, before):
                return taken_up(before)
        return self._person(subject, place) if "person" in kinds else None

    def _person(self, subject: Participant, place: "ClausePlace") -> Pronoun | None:
        drawn = (_FREE if place.first else FIRST_PERSONS).draw(self.random)
        if drawn.person == subject.person or {drawn.person, subject.person} <= SPEAKERS:
            return None
        return drawn

    def give_agent(self, clause: Clause) -> None:
        """Give a passive an agent, or none."""
        if self.random() < AGENT_SHARE:
            role = "denied other" if clause.mode.negation else "other"
            clause.subject = self.noun_phrase(clause.verb.subjects, role)


def taken_up(participant: Participant) -> Pronoun:
    """Return the pronoun that stands for a participant of the clause before."""
    if type(participant) is not NounPhrase:
        return participant
    core, beside = participant.core, participant.beside
    other = None if beside is None else beside.core.noun
    return Pronoun(participant.person, core.noun, other, synonym=core.synonym)


def clashes(one: Participant, other: Participant) -> bool:
    """Return whether one English pronoun may mean both: *he*, *she*, *it* or *they*."""
    return person_or_gender(one) == person_or_gender(other)


def subject_of(clause: Clause) -> Participant:
    """Return what is the subject of a main clause."""
    subject = clause.object if clause.mode.passive else clause.subject or clause.antecedent
    assert subject is not None
    return subject


def is_unclear(clause: Clause) -> bool:
    """Return whether a pronoun for the subject of a clause may mean another noun of its class."""
    subject = subject_of(clause)
    if subject.person in SPEAKERS:
        return False
    meant, living = person_or_gender(subject), kind_of(subject) in ANIMATE
    return any(
        other is not subject
        and person_or_gender(other) == meant
        and (kind_of(other) in ANIMATE) == living
        and not (type(other) is Pronoun and other.reflexive)
        for other in _named_in(clause)
    )


def _named_in(clause: Clause) -> list[Participant]:
    """Return all participants of a clause, of those inside it, and the nouns beside them."""
    named: list[Participant] = []
    parts: list[Clause | Participant | Place | None] = [clause]
    for part in parts:  # which grows
        if part is None:
            continue
        if type(part) is NounPhrase:
            named.append(part)
            parts += (part.owner, part.beside, part.attribute, part.relative)
        elif type(part) is Pronoun:
            named.append(part)
        elif type(part) is Prepositional:
            parts.append(part.phrase)
        elif type(part) is Clause:
            parts += (part.subject, part.object, part.recipient, part.oblique)
            parts += (part.standard, part.place, part.complement)
    return named


def is_simple(participant: Participant | None) -> bool:
    """Return whether a participant is a pronoun, or a noun phrase without a clause or attribute."""
    if type(participant) is not NounPhrase:
        return participant is not None
    return participant.relative is participant.attribute is None


def refers_back(participant: Participant | None) -> bool:
    """Return whether a participant has *himself*, *his* or the like, for the subject."""
    if type(participant) is NounPhrase:
        return participant.core.determiner in ("his", "her", "its", "their")
    return participant is not None and participant.reflexive
