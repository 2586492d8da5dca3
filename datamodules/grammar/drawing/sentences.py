"""Draws the meaning of whole sentences."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from datamodules.grammar.drawing.clauses import Clauses
from datamodules.grammar.drawing.draws import Random, Share
from datamodules.grammar.drawing.frames import ClausePlace
from datamodules.grammar.drawing.noun_phrases import kind_of
from datamodules.grammar.drawing.participants import bound
from datamodules.grammar.drawing.plans import MEAN, SHORTEST, Plan, WordBudget, plan_clauses
from datamodules.grammar.drawing.vocabulary import Vocabulary
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    Adverbial,
    Clause,
    Expression,
    Joined,
    NounPhrase,
    Participant,
    Prepositional,
)

if TYPE_CHECKING:  # pydantic takes a while
    from datamodules.grammar.knobs import Knobs

NOUN_SHARE = 0.8  # rough share of clauses with a noun as subject
OPENING_SHARE = 0.15  # share of sentences of several clauses that begin with *when* and the like
_SAME_TIME = ("when", "while", "before")  # conjunctions that tell the time of their clause
_FIRST = ("so:then",)  # conjunctions that may take the first place of a clause
MANY = 4  # clauses of a sentence with room for two subordinate ones
_BECAUSE = frozenset({"because"})
_ONCE = frozenset({"because", "but", "when", "while", "so:then"})
"""Conjunctions that a sentence has once at most."""
_SUBORDINATING = frozenset({"because", "when", "while"})
_REASONS = {"future": "present", "perfect": "past", "unreal": "present"}
"""Tenses of reasons, by the tense of the sentence, if another."""


class Sentences(Clauses):
    """Writer of sentences; equal random numbers give equal sentences."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        knobs: "Knobs",
        random: Random,
        keep: Callable[[Clause], bool] | None = None,
    ) -> None:
        """Store the settings; a clause that ``keep`` refuses is drawn anew."""
        super().__init__(vocabulary, knobs, random, keep)
        self.moods, self.questions = Share(knobs.moods), Share(knobs.questions)
        self._opening: Expression | None = None  # conjunction before the first clause
        self._second: Expression | None = None  # conjunction before the second, if known already
        self._joining: frozenset[str] = _ONCE  # conjunctions that are left for the sentence

    def sentence(self, words: int) -> list[Joined]:
        """Draw a sentence of about ``words`` words: its clauses side by side."""
        self.units = self.clauses = self.words = 0
        self.said.clear()
        self.doubts, self._joining = False, _ONCE
        self.draw_tense()
        gap = NOUN_SHARE * self.knobs.distance
        embedding = self.embedding.next_probability()
        plans, count = plan_clauses(words, MEAN + gap, embedding, self.random)
        self.budget = WordBudget(words - len(plans) + 1, count, gap)
        asks = len(plans) == 1 and self.random() < self.questions.next_probability()
        moody = self._draw_mood(plans, count)
        joined: list[Joined] = []
        for plan in plans:
            joined.append(self._next(plan, joined, asks))
        while self.budget.words > SHORTEST and not asks:
            self.budget.words -= 1
            (plan, *_), self.budget.clauses = plan_clauses(
                self.budget.words, 2 * SHORTEST, embedding, self.random
            )
            joined.append(self._next(plan, joined))
        self.embedding.count(self.clauses - len(joined), self.clauses - 1)
        self.questions.count(asks, len(joined) == 1)
        self.moods.count(moody and not self.doubts, self.clauses > 1)
        return joined

    def _draw_mood(self, plans: list[Plan], count: int) -> bool:
        """Draw the first conjunctions: of a condition, a concession, or as usual.

        Returns whether there is one of the first two, or a doubt.
        """
        self._opening = self._second = None
        several = len(plans) > 1
        moody = count > 1 and self.random() < self.moods.next_probability()
        expressions = self.vocabulary.expressions
        conjunction = None
        if moody and several and not self.habit:
            section = "conditions" if self.random() < 0.5 else "moods"
            conjunction = expressions[section].draw(self.random)
            if self.tense == "future":
                conjunction = expressions["conditions"].draw(self.random)
        elif moody and self.tense == "present" and any(plan.inside for plan in plans):
            self.doubts = True
        opens = several and self.random() < (0.5 if conjunction else OPENING_SHARE)
        if conjunction is None:
            if opens and self.tense in ("present", "past"):
                self._opening = expressions[f"openings_{self.tense}"].draw(self.random)
        elif conjunction.name == "before" or not opens:
            self._second = conjunction
        else:
            self._opening = conjunction
        if conjunction is not None and conjunction in expressions["conditions"].items:
            self.tense = "unreal"
        return self.doubts or conjunction is not None

    def _next(self, plan: Plan, before: list[Joined], asks: bool = False) -> Joined:
        """Draw the next clause of a sentence, with its conjunction."""
        place = ClausePlace(main=True, first=not before, asks=asks)
        conjunction = self._opening
        if not before:
            place.begins = conjunction is None and not asks
            place.fronts = place.begins
        else:
            last = before[-1].clause
            self._remember(place, last)
            conjunction = None if self._opening and len(before) == 1 else self._join(plan, before)
            if conjunction is None:
                # A time of this clause would stand beside the time of the opening clause.
                place.timed = False
            elif conjunction.name in ("and", "but") and self._share(place, before[-1]):
                unit = Adverbial(self.unit(), conjunction)
                return Joined(self.clause(plan, place), unit)
            self._bind(place, last, conjunction)
        return self._joined(plan, place, conjunction, len(before))

    def _joined(
        self, plan: Plan, place: ClausePlace, conjunction: Expression | None, number: int
    ) -> Joined:
        """Draw a clause with its conjunction, in the tense and mood that the conjunction asks."""
        unit = None if conjunction is None else Adverbial(self.unit(), conjunction)
        subordinate = conjunction is not None and "subordinating" in conjunction.kinds
        tense = self.tense
        if conjunction is not None:
            place.timed = place.timed and conjunction.name not in _SAME_TIME
            place.fronts = not subordinate and conjunction.name not in _FIRST
            place.subjunctive = conjunction in self.vocabulary.expressions["moods"].items
            if subordinate and tense == "unreal" and place.kind != "reason":
                tense = "supposed"
        if place.kind == "reason":
            tense = _REASONS.get(tense, tense)
        clause = self._inside(plan, place, tense, self.habit)
        return Joined(clause, unit, comma=number > 0 and not subordinate)

    def _join(self, plan: Plan, before: list[Joined]) -> Expression:
        """Draw the conjunction before a later clause."""
        if len(before) == 1 and self._second is not None:
            return self._second
        last = before[-1].clause
        left_out = _ONCE - self._joining
        if len(left_out & _SUBORDINATING) >= (1 if len(before) < MANY else 2):
            left_out |= _SUBORDINATING
        if plan.inside is not None or not self._may_have_reason(last):
            left_out |= _BECAUSE
        conjunction = self.vocabulary.conjunctions[self.tense, left_out].draw(self.random)
        self._joining -= {conjunction.name}
        return conjunction

    def _may_have_reason(self, clause: Clause) -> bool:
        """Return whether *because* may follow: what somebody does needs a reason."""
        subject = _subject(clause)
        kind = kind_of(subject)
        does = subject is not None and kind in ANIMATE and self.reasons[kind] is not None
        return does and clause.adjective is None and not holds_clause(clause)

    def _remember(self, place: ClausePlace, last: Clause) -> None:
        """Tell a clause what its pronouns may stand for."""
        plain = not last.mode.passive and last.verb.frame != "inverse"
        if plain and isinstance(last.object, NounPhrase):
            place.object = last.object
        place.there = isinstance(last.place, Prepositional)

    def _bind(self, place: ClausePlace, last: Clause, conjunction: Expression | None) -> None:
        """Give a clause a pronoun for the subject of the clause before, or none."""
        subject = _subject(last)
        if conjunction is not None and conjunction.name == "because":
            place.kind = "reason"
            place.subject = bound(subject) if isinstance(subject, NounPhrase) else subject
        elif conjunction is not None and conjunction.name == "before":
            place.kind = "event"
        elif (
            isinstance(subject, NounPhrase)
            and kind_of(subject) in self.predicated
            and self.random() < self.ambiguity
        ):
            place.subject = bound(subject)
            self.said.update(adjective.category for adjective in subject.core.adjectives)

    def _share(self, place: ClausePlace, last: Joined) -> bool:
        """Make a clause share the subject of the clause before, or not."""
        subject = _subject(last.clause)
        if subject is None or not may_share(last) or self.random() >= self.coordination:
            return False
        place.gap, place.timed = "shared", False
        place.subject = subject
        place.antecedent = subject if isinstance(subject, NounPhrase) else None
        return True


def holds_clause(clause: Clause) -> bool:
    """Return whether a clause holds another after its verb."""
    parts = (None if clause.mode.passive else clause.object, clause.oblique)
    return clause.complement is not None or any(
        isinstance(part, NounPhrase) and part.relative is not None for part in parts
    )


def may_share(joined: Joined) -> bool:
    """Return whether a clause behind *and* may share the subject of a main clause.

    Nothing at the end of the clause may seem to have a second verb, nor may its first words.
    """
    clause, conjunction = joined.clause, joined.conjunction
    mode = clause.mode
    return not (
        (conjunction is not None and "subordinating" in conjunction.expression.kinds)
        or clause.gap
        or holds_clause(clause)
        or mode.passive
        or mode.modal
        or mode.negation
        or mode.subjunctive
        or mode.tense in ("supposed", "unreal")
        or clause.verb.frame == "inverse"
        or (clause.time and not clause.time_first)
    )


def _subject(clause: Clause) -> Participant | None:
    """Return what is the subject of a main clause; None if languages differ in it."""
    if clause.verb.frame == "inverse":
        return None
    if clause.mode.passive:
        return clause.object
    return clause.antecedent if clause.subject is None else clause.subject
