"""Draws what the frame of a clause needs: its verb and mode, and who and what take part."""

from functools import cached_property

from datamodules.grammar.drawing.circumstances import Circumstances
from datamodules.grammar.drawing.draws import Pool, Tables
from datamodules.grammar.drawing.noun_phrases import PREDICATE_TRIES, kind_of, noun_of
from datamodules.grammar.drawing.plans import ClausePlace
from datamodules.grammar.drawing.vocabulary import OWNABLE, is_lasting
from datamodules.grammar.drawing.writer import NothingLeftError
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    FIRST_PLURAL,
    FIRST_SINGULAR,
    HUMAN,
    KINDS,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Clause,
    Mode,
    NounPhrase,
    Participant,
    Place,
    Prepositional,
    Pronoun,
    Verb,
    person_or_gender,
    subject_of,
)

SUBJECT_GAP_SHARE, THING_GAP_SHARE = 0.6, 0.1
"""Shares of relative clauses of somebody, and of something, that is their subject."""
BE = Verb("be", "be", KINDS, state=True)
FRAMES = {
    "intransitive": (3.0, 1, 5), "transitive": (10.0, 3, 12), "prepositional": (4.0, 4, 9),
    "motion": (2.0, 4, 8), "ditransitive": (3.5, 6, 12), "quality": (5.0, 2, 7),
    "location": (1.5, 4, 5), "inverse": (2.0, 3, 6), "reporting": (7.0, 2, 12),
}  # fmt: skip
"""Weight of each frame, and its fewest and most words without the subject."""
MOST_WORDS = max(most for _, _, most in FRAMES.values())
_HOSTS = ("transitive", "prepositional", "reporting")  # frames that may hold a clause at their end
_PASSIVE_WORDS = 5  # of a passive with its agent
_EVENTS = ("intransitive", "transitive", "prepositional", "motion", "ditransitive")
_DEEDS = (*_EVENTS, "quality", "location", "reporting")
_ALLOWED = {
    "": _DEEDS, "deed": (*_EVENTS, "reporting"), "moment": ("intransitive", "motion"),
    "place": ("intransitive", "transitive"), "last": (*_DEEDS, "inverse"),
}  # fmt: skip
"""Frames of clauses where not only events fit. In the only clause of a sentence the subject may be
the object of another language: no pronoun for it follows."""
_RARE = {("relative", "intransitive"): 0.5}
"""Factors of weights: *that falls* says little."""
_PLAIN = ("reason", "result", "event", "moment")  # kinds of clauses without a modal verb
LOCATED = ("person", "animal", "tool", "container", "text", "vehicle", "furniture", "machine")
"""Classes that may be somewhere."""

AGENT_SHARE = 0.6  # share of passives with an agent
REFLEXIVE_SHARE = 0.6  # share of *himself* among the pronouns that are objects of verbs like *wash*
TO_PRONOUN_SHARE = 0.6  # share of pronouns among recipients beside a pronoun: *gives it to me*

_HE, _SHE = Pronoun(THIRD_SINGULAR, gender="m"), Pronoun(THIRD_SINGULAR, gender="f")
_I, _WE, _THEY = Pronoun(FIRST_SINGULAR), Pronoun(FIRST_PLURAL), Pronoun(THIRD_PLURAL)
SPEAKERS = {FIRST_SINGULAR, FIRST_PLURAL}
FIRST_PERSONS: Pool[Pronoun] = Pool((_I, _WE), (3, 2))
_FREE: Pool[Pronoun] = Pool((_HE, _SHE, _I, _THEY, _WE), (3, 3, 3, 2, 2))


class Frames(Circumstances):
    """Choice of the frame, the verb and the mode of a clause."""

    @cached_property
    def _frames(self) -> Tables[str, int, bool, str, str, bool, Pool[str]]:
        return Tables(self._build_frames)

    @cached_property
    def gaps(self) -> Tables[str, bool, str, tuple[Pool[str] | None, Pool[str] | None]]:
        """What the antecedent of a relative clause may be in it."""
        return Tables(self._build_gaps)

    def _frame(
        self, words: int, subject: Participant | None, place: ClausePlace
    ) -> tuple[str, Verb]:
        if place.verbs is not None:
            verb = self._verb(place.verbs)
            return verb.frame, verb
        if place.qualities is not None:
            return "quality", BE
        kind, mark = "" if subject is None else kind_of(subject), self._mark(place)
        if place.host and self.doubts:
            self.doubts, frame = False, "doubting"
        else:
            limit = place.kind or (place.gap if place.gap in ("", "place") else "relative")
            if self.habit or self.tense == "perfect":
                limit = "event"  # nobody *was always red*, or *has loved*
            elif not limit and place.first and place.last:
                limit = "last"
            elif "reports" in self.said and limit in ("", "deed"):
                limit = "event"  # one report a sentence
            key = kind, min(words - 1, MOST_WORDS), place.host, limit, mark, self.tense == "present"
            frame = self._frames[key].draw(self.random)
        if frame == "reporting":
            self.said.add("reports")
        table = self.vocabulary.verbs[frame, kind, "", mark]
        if table is None:
            return frame, BE
        verb = self._verb(table)
        return verb.frame, verb

    def _mark(self, place: ClausePlace) -> str:
        """Return the marks of verbs that fit: no states in a habit, future or perfect."""
        if place.mark or place.kind in ("event", "moment"):
            return place.mark or "meant"
        return "event" if self.habit or self.tense in ("future", "perfect") else ""

    def _build_frames(
        self, kind: str, words: int, host: bool, limit: str, mark: str, present: bool
    ) -> Pool[str]:
        """Return the frames with verbs for a class of subjects (any class: empty), by weight."""
        possible = {frame for frame in FRAMES if self._is_possible(frame, kind, mark)}
        possible = possible.intersection(_ALLOWED.get(limit, _EVENTS)) or possible
        # A report of the past would need tenses of its own.
        allowed = possible - (set() if host and present else {"reporting"})
        if host:
            allowed = allowed.intersection(_HOSTS) or allowed
        fitting = {frame for frame in allowed if FRAMES[frame][1] <= words <= FRAMES[frame][2]}
        fitting = fitting or {frame for frame in allowed if FRAMES[frame][1] <= words}
        shortest = min(allowed, key=lambda frame: (FRAMES[frame][1], frame))
        weights = {
            frame: weight * _RARE.get((limit, frame), 1)
            for frame, (weight, _, _) in FRAMES.items()
            if frame in (fitting or {shortest})
        }
        return Pool(weights, weights.values())

    def _is_possible(self, frame: str, kind: str, mark: str) -> bool:
        if frame == "quality":
            return not kind or self.vocabulary.qualities[kind, False] is not None
        if frame == "location":
            return not kind or kind in LOCATED
        return self.vocabulary.verbs[frame, kind, "", mark] is not None

    def _mode(self, frame: str, verb: Verb, words: int, place: ClausePlace, passive: bool) -> Mode:
        inside = place.gap not in ("", "shared")
        # *Ont demandé et voulaient* would need its subject again.
        past = place.gap == "shared" and self.tense == "past"
        plain = inside or past or place.kind in _PLAIN or frame == "reporting"
        if plain or (place.negation is None and words < FRAMES[frame][1] + 3):
            mode = Mode(self.tense, place.negation or "", habit=self.habit)
        else:
            modals = "willing" if verb.meant and not passive else "able"
            if self.habit or verb is BE:
                modals = ""
            elif verb.state:
                modals = "state"
            negation = "" if place.negation is None and "no" in self.said else place.negation
            mode = self.vocabulary.modes[self.tense, self.habit, modals, negation].draw(self.random)
            if mode.negation:
                self.said.add("no")
        if place.subjunctive or passive:
            mode = mode._replace(subjunctive=place.subjunctive, passive=passive)
        return mode

    def _build_gaps(
        self, kind: str, host: bool, mark: str
    ) -> tuple[Pool[str] | None, Pool[str] | None]:
        """Return what the antecedent of a relative clause may be in it, by its class: subject or
        object, and others.

        A verb whose object is the antecedent has no noun after it that could hold another clause.
        """
        share = SUBJECT_GAP_SHARE if kind in HUMAN else THING_GAP_SHARE
        usual = {
            "subject": share * self._has_predicate(kind, mark),
            "object": (1 - share) * (not host and self._governs("transitive", kind, mark)),
        }
        others = self.other_gaps(kind, host, mark)
        return (
            Pool(usual, usual.values()) if any(usual.values()) else None,
            Pool(others, [1.0] * len(others)) if others and self.knobs.relatives else None,
        )

    def other_gaps(self, kind: str, host: bool, mark: str) -> list[str]:
        """Return the gaps but subject and object that a relative clause of a class may have."""
        possible = {
            "owner": kind in HUMAN,
            "owner of object": kind in HUMAN and not host,
            "oblique": not host and self._governs("prepositional", kind, mark),
            "place": kind == "place" and self._has_predicate("person", mark + " placed"),
        }
        return [name for name in possible if possible[name]]

    def owned_kinds(self, mark: str) -> tuple[str, ...]:
        """Return the classes of the objects that may be *whose*."""
        return tuple(kind for kind in OWNABLE if self._governs("transitive", kind, mark))

    def _governs(self, frame: str, kind: str, mark: str) -> bool:
        return self.vocabulary.verbs[frame, "person", kind, mark] is not None

    def _has_predicate(self, kind: str, mark: str) -> bool:
        return any(self._is_possible(frame, kind, mark) for frame in ("intransitive", "transitive"))

    def subject_pronoun(self, place: ClausePlace) -> Pronoun | None:
        """Draw *I*, *we* or, in a first clause, *he*, *she* or *they* as a subject, or nothing."""
        if self.random() >= self.knobs.pronouns:
            return None
        return (_FREE if place.first else FIRST_PERSONS).draw(self.random)

    def complete(self, clause: Clause, frame: str, subject: Participant, place: ClausePlace) -> int:
        """Give a clause what its frame needs besides the subject; return the fewest words."""
        verb, modal = clause.verb, clause.mode.modal
        if modal is not None and modal.subjects and kind_of(subject) not in modal.subjects:
            clause.mode = clause.mode._replace(modal=None)  # no engine wants to sleep
        negated = clause.mode.negation != ""
        possessor = None if place.gap == "owner" else subject
        role = "denied other" if negated else "object"
        other = "denied other" if negated else "other"
        match frame:
            case "passive":
                if self.random() < AGENT_SHARE:
                    clause.subject = self.noun_phrase(verb.subjects, other)
                return _PASSIVE_WORDS
            case "transitive" if place.given or place.governs:
                clause.object = place.given
            case "transitive" | "ditransitive":
                if negated:  # not *does not love a woman*
                    role = "standard" if verb.state else "denied object"
                clause.object = self._governed(verb, role, subject, possessor, place)
                if frame == "ditransitive":
                    self._give_recipient(clause, subject, place, negated)
            case "inverse":
                clause.object = self.noun_phrase(verb.objects, other)
            case "motion":  # to one place
                clause.oblique = self.noun_phrase(
                    verb.objects, "goal", possessor, place.host, verb, number=False
                )
            case "prepositional" if not place.governs:
                clause.oblique = self._governed(verb, role, subject, possessor, place)
            case "quality":
                self._give_quality(clause, kind_of(subject), place)
            case "location":
                self.add_place(clause, 3, place)
        return FRAMES[frame][1] - 2 * place.governs - (place.given is not None)

    def _governed(
        self,
        verb: Verb,
        role: str,
        subject: Participant,
        possessor: Participant | None,
        place: ClausePlace,
    ) -> Participant:
        """Draw what a verb governs; a pronoun holds no clause."""
        pronoun = None if place.host else self._pronoun(verb, subject, place)
        return pronoun or self.noun_phrase(verb.objects, role, possessor, place.host, verb)

    def _give_quality(self, clause: Clause, kind: str, place: ClausePlace) -> None:
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
        self, clause: Clause, subject: Participant, place: ClausePlace, negated: bool
    ) -> None:
        """Draw to whom something is given; no pronoun beside *me* and *us*."""
        share = self.knobs.pronouns
        if type(clause.object) is Pronoun:
            share = 0 if clause.object.person in SPEAKERS else TO_PRONOUN_SHARE
        if self.random() < share:
            clause.recipient = self._person(subject, place)
        if clause.recipient is None:
            role = "denied other" if negated else "object"
            clause.recipient = self.noun_phrase(HUMAN, role, subject)

    def _pronoun(self, verb: Verb, subject: Participant, place: ClausePlace) -> Pronoun | None:
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
            if fits and kind in verb.objects and not clashes(subject, before):
                return taken_up(before)
        return self._person(subject, place) if "person" in verb.objects else None

    def _person(self, subject: Participant, place: ClausePlace) -> Pronoun | None:
        drawn = (_FREE if place.first else FIRST_PERSONS).draw(self.random)
        if drawn.person == subject.person or {drawn.person, subject.person} <= SPEAKERS:
            return None
        return drawn


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
