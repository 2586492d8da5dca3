"""Draws the meaning of whole sentences."""

from datamodules.grammar.drawing.clauses import HABIT_SHARE, ClausePlace, Clauses, bound
from datamodules.grammar.drawing.plans import MEAN, SHORTEST, Plan, WordBudget, plan_clauses
from datamodules.grammar.meaning.phrases import (
    Adverbial,
    Clause,
    Joined,
    NounPhrase,
    Participant,
    inner_clauses,
)

NOUN_SHARE = 0.6  # rough share of clauses with a noun as subject
OPENING_SHARE = 0.15  # share of sentences of several clauses that begin with *when* and the like
_SAME_TIME = ("when", "while")  # conjunctions of clauses that happen at the same time
_FIRST = ("so:then",)  # conjunctions that may take the first place of a clause


class Sentences(Clauses):
    """Writer of sentences; equal random numbers give equal sentences."""

    def sentence(self, words: int) -> list[Joined]:
        """Draw a sentence of about ``words`` words: its clauses side by side."""
        self.units = self.clauses = self.words = 0
        self.said.clear()
        self.past_is_habit = self.random() < HABIT_SHARE
        self.draw_tense()
        mean = MEAN + NOUN_SHARE * self.knobs.distance
        embedding = self.embedding.next_probability()
        plans, count = plan_clauses(words, mean, embedding, self.random)
        self.budget = WordBudget(words - len(plans) + 1, count)
        opens = len(plans) > 1 and self.random() < OPENING_SHARE
        joined = [Joined(self._beside(plans[0], None, opens), self._opening() if opens else None)]
        for plan in plans[1:]:
            joined.append(self._next(plan, joined, opens))
        while self.budget.words > SHORTEST:
            self.budget.words -= 1
            plan = Plan()
            if self.budget.words > 2 * SHORTEST and self.random() < embedding:
                plan.inside = Plan(1)
            self.budget.clauses = 1 + (plan.inside is not None)
            joined.append(self._next(plan, joined, opens))
        self.embedding.count(self.clauses - len(joined), self.clauses - 1)
        if self.past_is_habit:
            _share_habits(joined)
        return joined

    def _next(self, plan: Plan, before: list[Joined], opens: bool) -> Joined:
        last = before[-1]
        if opens and len(before) == 1:
            # A time of this clause would stand beside the time of the opening clause.
            return Joined(self._beside(plan, last.clause, timed=False), None, comma=True)
        conjunction = self.vocabulary.conjunctions(self.tense).draw(self.random)
        comma = "subordinating" not in conjunction.kinds
        unit = Adverbial(self.unit(), conjunction)
        # *When* tells the time already, and *then* stands first in German.
        timed = conjunction.name not in _SAME_TIME
        fronts = comma and conjunction.name not in _FIRST
        return Joined(self._beside(plan, last.clause, timed=timed, fronts=fronts), unit, comma)

    def _beside(
        self,
        plan: Plan,
        before: Clause | None,
        opens: bool = False,
        timed: bool = True,
        fronts: bool = True,
    ) -> Clause:
        """Draw a main clause, whose pronouns may stand for nouns of the clause ``before``.

        ``opens`` tells whether a conjunction stands before the first clause.
        """
        place = ClausePlace(first=before is None, main=True, begins=before is None and not opens)
        place.timed, place.fronts = timed, fronts and not opens
        if before is not None:
            place.object = _noun_phrase(before.object)
            subject = _noun_phrase(before.subject)
            if subject is not None and self.random() < self.knobs.ambiguity:
                place.subject = bound(subject)
        return self.clause(plan, place)

    def _opening(self) -> Adverbial:
        table = self.vocabulary.adverbs(f"openings_{self.tense}", 2)
        assert table is not None
        return Adverbial(self.unit(), table.draw(self.random))


def _share_habits(joined: list[Joined]) -> None:
    """Make all past clauses habits if one of them is: *when he slept, she often worked*."""
    every = [clause for part in joined for clause in inner_clauses(part.clause)]
    past = [clause for clause in every if clause.mode.tense == "past"]
    if any(clause.mode.habit for clause in past):
        for clause in past:
            clause.mode = clause.mode._replace(habit=True, simple=True)


def _noun_phrase(participant: Participant | None) -> NounPhrase | None:
    return participant if isinstance(participant, NounPhrase) else None
