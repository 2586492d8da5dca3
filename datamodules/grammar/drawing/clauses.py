"""Pool clauses, with the clauses inside them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from datamodules.grammar.drawing.circumstances import Circumstances, is_negated
from datamodules.grammar.drawing.draws import Mean, Pool, Random, Share
from datamodules.grammar.drawing.noun_phrases import can_be_extended, kind_of
from datamodules.grammar.drawing.plans import Plan, WordBudget
from datamodules.grammar.drawing.vocabulary import Vocabulary
from datamodules.grammar.meaning.phrases import (
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
    Prepositional,
    Pronoun,
    Verb,
)

if TYPE_CHECKING:  # pydantic takes a while
    from datamodules.grammar.knobs import Knobs

MOST_TRIES, MOST_TRIES_INSIDE = 50, 30  # draws for a place, and inside another clause
LEAST_GAP = 3  # fewest words of an attribute or of a relative clause
HABIT_SHARE = 0.4  # share of sentences whose past is one of habits, not of single events
PRONOUN_SHARE = 0.3  # share of pronouns among the subjects and objects, where they fit
SUBJECT_GAP_SHARE = 0.6  # share of relative clauses whose antecedent is their subject

BE = Verb("be", "be", KINDS, state=True)
_FRAMES = {
    "intransitive": (3.0, 1), "transitive": (10.0, 3), "prepositional": (4.0, 4),
    "motion": (2.0, 4), "ditransitive": (2.5, 6), "quality": (5.0, 2), "location": (1.5, 4),
    "inverse": (2.0, 3), "reporting": (4.0, 2),
}  # fmt: skip
"""Weight of each frame, and its fewest words without the subject."""
_HOSTS = ("transitive", "prepositional", "reporting")  # frames that may hold a clause at their end
_LOCATED = ("person", "animal", "tool", "container", "text", "vehicle", "furniture", "machine")
"""Classes that may be somewhere."""

_HE, _SHE = Pronoun(THIRD_SINGULAR, gender="m"), Pronoun(THIRD_SINGULAR, gender="f")
_I, _WE, _THEY = Pronoun(FIRST_SINGULAR), Pronoun(FIRST_PLURAL), Pronoun(THIRD_PLURAL)
_SPEAKERS = {FIRST_SINGULAR, FIRST_PLURAL}
_FIRST_PERSONS: Pool[Pronoun] = Pool((_I, _WE), (3, 2))
_FREE: Pool[Pronoun] = Pool((_HE, _SHE, _I, _THEY, _WE), (3, 3, 3, 2, 2))


@dataclass
class ClausePlace:
    """Where a clause stands."""

    subject: Participant | None = None  # a bound pronoun; with a subject gap, the antecedent
    object: NounPhrase | None = None  # the object of the clause before, for a pronoun
    gap: str = ""
    antecedent: NounPhrase | None = None
    words: int | None = None  # number of words; None for a part of the budget
    first: bool = False  # whether *he*, *she* and *they* may stand for persons outside the sentence
    main: bool = False
    timed: bool = True  # whether a main clause may have a time of its own
    fronts: bool = True  # whether a time may stand first in a main clause
    begins: bool = False  # whether the clause begins the sentence, without a conjunction


class NothingLeftError(Exception):
    """No clause of the split fits a place."""


class Clauses(Circumstances):
    """Writer of clauses."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        knobs: "Knobs",
        random: Random,
        keep: Callable[[Clause], bool] | None = None,
    ) -> None:
        """Store the settings; a clause that ``keep`` refuses is drawn anew."""
        super().__init__(vocabulary, knobs, random)
        self._keep = keep
        self.tenses = vocabulary.tenses
        self.tense, self.habit, self.past_is_habit = "present", False, False
        self.budget = WordBudget(0, 0)
        self.clauses = self.words = 0
        self.embedding = Share(knobs.embedding)
        self._distances = Mean(knobs.distance)
        self._frame_tables: dict[tuple[str, int, bool, bool, bool], Pool[str]] = {}

    def draw_tense(self) -> None:
        """Draw the tense of a sentence, or of a clause after *that*."""
        self.tense = self.tenses.draw(self.random)
        self.habit = self.tense == "past" and self.past_is_habit

    def clause(self, plan: Plan, place: ClausePlace) -> Clause:
        """Draw a clause that may be kept.

        Raises ``NothingLeftError`` if none is found: the clause around it may then leave another
        place.
        """
        if self._keep is None:
            return self._clause(plan, place)
        budget = replace(self.budget)
        for _ in range(MOST_TRIES if place.main else MOST_TRIES_INSIDE):
            self.budget = replace(budget)
            with suppress(NothingLeftError):
                clause = self._clause(plan, place)
                if self._keep(clause):
                    return clause
        raise NothingLeftError

    def _clause(self, plan: Plan, place: ClausePlace) -> Clause:
        """Draw a clause; what it lacks of the budget's words is left for later clauses."""
        words = place.words
        if words is None:
            words = self.budget.take(0.6 + 0.8 * self.random())
        else:
            self.budget.clauses -= 1
        subject = self._known_subject(place)
        self.clauses += 1
        self.words += words
        # A clause of given length fills a gap already: no gap opens inside its subject.
        distance = self._distance() if subject is None and place.words is None else 0
        in_subject, at_end = (plan.inside, None) if distance > LEAST_GAP else (None, plan.inside)
        host = at_end is not None
        frame, verb = self._frame(words, subject, place, host)
        clause = Clause(self.unit(), verb, self._mode(frame, verb, words), gap=place.gap)
        clause.antecedent = place.antecedent
        clause.synonym = self._synonym()
        if subject is None:
            kinds = self._subject_kinds(frame, verb)
            subject = self.noun_phrase(kinds, extended=distance > 0, ambiguous=True)
            if clause.mode.negation:
                _make_definite(subject, "every")
            if distance:
                self._open_gap(subject, distance, in_subject)
        if place.gap != "subject":
            clause.subject = subject
            words -= 1 if isinstance(subject, Pronoun) else 2
        self._participants(clause, frame, subject, place, host)
        spare = words - _FRAMES[frame][1]
        if place.main and place.timed:
            spare -= self._add_time(clause, spare, place.fronts, host)
        spare = self._fill(clause, frame, spare, host)
        if place.begins:
            self._begin(clause)
        self.words -= spare
        self.budget.words = max(0, self.budget.words + spare)
        if at_end is not None:
            self._hold(clause, at_end)
        return clause

    def _known_subject(self, place: ClausePlace) -> Participant | None:
        if place.subject is not None:
            return place.subject
        if self.random() < PRONOUN_SHARE:
            return (_FREE if place.first else _FIRST_PERSONS).draw(self.random)
        return None

    def _distance(self) -> int:
        """Draw the number of words between subject and verb, and take them from the budget.

        The numbers are even from ``LEAST_GAP`` to twice the mean, so that all occur equally often.
        """
        most = max(LEAST_GAP + 1, round(2 * self.knobs.distance))
        wanted = LEAST_GAP + int(self.random() * (most - LEAST_GAP + 1))
        allowed = self._distances.allows(wanted)
        return wanted if allowed and self.budget.spare(wanted) else 0

    def _frame(
        self, words: int, subject: Participant | None, place: ClausePlace, host: bool
    ) -> tuple[str, Verb]:
        kind = "" if subject is None else kind_of(subject)
        if place.gap == "object":
            assert place.antecedent is not None
            table = self.vocabulary.verbs("transitive", kind, kind_of(place.antecedent))
            if table is not None:
                return "transitive", table.draw(self.random)
        frame = self._frames(kind, min(words - 1, 7), host, bool(place.gap)).draw(self.random)
        table = self.vocabulary.verbs(frame, kind)
        return frame, BE if table is None else table.draw(self.random)

    def _frames(self, kind: str, words: int, host: bool, relative: bool) -> Pool[str]:
        """Return the frames with verbs for a class of subjects (any class: empty), by weight."""
        key = kind, words, host, relative, self.tense == "present"
        if key not in self._frame_tables:
            self._frame_tables[key] = self._build_frames(*key)
        return self._frame_tables[key]

    def _build_frames(
        self, kind: str, words: int, host: bool, relative: bool, present: bool
    ) -> Pool[str]:
        possible = {frame for frame in _FRAMES if self._is_possible(frame, kind)}
        if relative:  # the subject is the object in some languages: no relative pronoun fits all
            possible.discard("inverse")
        # A report of the past would need tenses of its own.
        allowed = possible - (set() if host and present else {"reporting"})
        if host:
            allowed = allowed.intersection(_HOSTS) or allowed
        fitting = {frame for frame in allowed if _FRAMES[frame][1] <= words}
        shortest = min(allowed, key=lambda frame: (_FRAMES[frame][1], frame))
        weights = {
            frame: weight
            for frame, (weight, _) in _FRAMES.items()
            if frame in (fitting or {shortest})
        }
        return Pool(weights, weights.values())

    def _is_possible(self, frame: str, kind: str) -> bool:
        if frame == "quality":
            return not kind or self.vocabulary.adjectives(kind, predicative=True) is not None
        if frame == "location":
            return not kind or kind in _LOCATED
        return self.vocabulary.verbs(frame, kind) is not None

    def _subject_kinds(self, frame: str, verb: Verb) -> tuple[str, ...]:
        if frame == "location":
            return _LOCATED
        return self.vocabulary.described if frame == "quality" else verb.subjects

    def _mode(self, frame: str, verb: Verb, words: int) -> Mode:
        if frame == "reporting" or words < _FRAMES[frame][1] + 3:
            return Mode(self.tense)
        wills = not (verb.state or frame == "inverse")
        return self.vocabulary.modes(self.tense, self.habit, wills).draw(self.random)

    def _open_gap(self, subject: NounPhrase, words: int, plan: Plan | None) -> None:
        """Put an attribute or a relative clause between a subject and its verb.

        The last noun there is an *attractor* if its number is not the number of the subject.
        """
        plural = subject.core.plural != (self.random() < self.knobs.attractors)
        if plan is not None and can_be_extended(subject):
            before = self.words
            clause = self._relative(subject, plan, words - 1)
            if clause is not None:
                self._distances.count(self.words - before + 1)
                last = last_noun(clause)
                if last is not None:
                    self.set_number(last, plural)
                return
        written = self.give_attributes(subject, words, plural)
        self._distances.count(written)
        self.words += written

    def _relative(self, phrase: NounPhrase, plan: Plan, words: int | None) -> Clause | None:
        """Give a noun phrase a relative clause; None if no verb fits."""
        kind = kind_of(phrase)
        subject_gaps = SUBJECT_GAP_SHARE * self._has_predicate(kind)
        object_gaps = 1 - SUBJECT_GAP_SHARE
        # A verb whose object is the antecedent has no noun after it that could hold a clause.
        if plan.inside or not self.vocabulary.verbs("transitive", "person", kind):
            object_gaps = 0
        if not subject_gaps and not object_gaps:
            return None
        gap = Pool(("subject", "object"), (subject_gaps, object_gaps)).draw(self.random)
        subject = phrase if gap == "subject" else None
        place = ClausePlace(subject, gap=gap, antecedent=phrase, words=words)
        phrase.relative = self.clause(plan, place)
        return phrase.relative

    def _has_predicate(self, kind: str) -> bool:
        return self._is_possible("intransitive", kind) or self._is_possible("quality", kind)

    def _participants(
        self, clause: Clause, frame: str, subject: Participant, place: ClausePlace, host: bool
    ) -> None:
        kinds = clause.verb.objects
        if frame in ("transitive", "ditransitive") and place.gap != "object":
            clause.object = None if host else self._pronoun(kinds, subject, place)
            if frame == "ditransitive" or clause.object is None:
                denied = bool(clause.mode.negation)
                clause.object = self.noun_phrase(kinds, subject, denied, host, ambiguous=True)
        if frame == "inverse":
            clause.object = self.noun_phrase(kinds, subject)
        elif frame == "ditransitive":
            clause.recipient = self._pronoun(HUMAN, subject, place)
            if clause.recipient is None:
                clause.recipient = self.noun_phrase(HUMAN, subject)
        elif frame in ("prepositional", "motion"):
            clause.oblique = self.noun_phrase(kinds, subject, extended=host)
        elif frame == "quality":
            table = self.vocabulary.adjectives(kind_of(subject), predicative=True)
            assert table is not None
            clause.adjective = table.draw(self.random)
        elif frame == "location":
            clause.place = self.place_phrase()
        if clause.mode.negation:
            inverse = clause.object if frame == "inverse" else None
            for phrase in (inverse, clause.recipient, clause.oblique):
                if isinstance(phrase, NounPhrase):
                    _make_definite(phrase, "some")

    def _pronoun(
        self, kinds: tuple[str, ...], subject: Participant, place: ClausePlace
    ) -> Pronoun | None:
        """Draw an object pronoun: for the object of the clause before, or for a person."""
        if place.object is not None and kind_of(place.object) in kinds:
            return bound(place.object) if self.random() < self.knobs.ambiguity else None
        if not any(kind in HUMAN for kind in kinds) or self.random() >= PRONOUN_SHARE:
            return None
        drawn = (_FREE if place.first else _FIRST_PERSONS).draw(self.random)
        if drawn.person == subject.person or {drawn.person, subject.person} <= _SPEAKERS:
            return None
        return drawn

    def _hold(self, clause: Clause, plan: Plan) -> None:
        """Put a clause at the end of another: after *that*, or after the last noun."""
        if clause.verb.frame == "reporting":
            if clause.complement is None:
                outer = self.tense, self.habit
                self.draw_tense()
                clause.complement = self.clause(plan, ClausePlace())
                self.tense, self.habit = outer
            return
        host = clause.object if clause.verb.frame == "transitive" else clause.oblique
        if isinstance(host, NounPhrase) and host.relative is None and can_be_extended(host):
            if is_negated(clause, host):  # French would need the subjunctive
                host.core = host.core._replace(determiner="the")
            self._relative(host, plan, None)


def bound(phrase: NounPhrase) -> Pronoun:
    """Return the pronoun that stands for a noun phrase."""
    return Pronoun(phrase.person, phrase.core.noun, synonym=phrase.core.synonym)


def last_noun(clause: Clause) -> NounPhrase | None:
    """Return the last noun phrase of a relative clause, as English orders the parts."""
    place = clause.place.phrase if isinstance(clause.place, Prepositional) else None
    for phrase in (place, clause.oblique, clause.recipient, clause.object, clause.subject):
        if isinstance(phrase, NounPhrase):
            return last_part(phrase)
    return None


def last_part(phrase: NounPhrase) -> NounPhrase:
    """Return the last noun phrase inside a noun phrase: the phrase itself, if nothing follows."""
    inner = None if phrase.relative is None else last_noun(phrase.relative)
    if inner is None and phrase.attribute is not None:
        inner = last_part(phrase.attribute.phrase)
    return inner or phrase


def _make_definite(phrase: NounPhrase, unlike: str) -> None:
    """Write *the* instead of a determiner that a negation would change (*not every*, *any*)."""
    if phrase.core.determiner == unlike:
        phrase.core = phrase.core._replace(determiner="the")
