"""State of an unfinished sentence, and the way back from a clause that is not kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeAlias, TypeVar

from datamodules.grammar.drawing.draws import Mean, Random, Share
from datamodules.grammar.drawing.plans import WordBudget
from datamodules.grammar.drawing.vocabulary import Vocabulary
from datamodules.grammar.knobs import Knobs
from datamodules.grammar.meaning.phrases import Clause, Expression, inner_clauses

_SHARES = (
    "attractors", "comparatives", "coordination", "embedding", "fronting", "moods", "passives",
    "perfects", "questions", "relatives", "reordering", "verbosity",
)  # fmt: skip
"""Knobs that are shares of the places where something is possible."""

T = TypeVar("T")
Counted: TypeAlias = tuple[WordBudget, int, int, set[object], list[float]]


class NothingLeftError(Exception):
    """Nothing fits a place that the sentence does not say already."""


class Writer:
    """State of a writer of sentences; ``random`` decides everything."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        knobs: Knobs,
        random: Random,
        keep: Callable[[Clause], bool] | None = None,
    ) -> None:
        """Store the settings; a clause that ``keep`` refuses is drawn anew."""
        self.vocabulary, self.knobs, self.random, self._keep = vocabulary, knobs, random, keep
        self.tenses = vocabulary.tenses
        self.shares = {name: Share(getattr(knobs, name), random) for name in _SHARES}
        self.distances = Mean(knobs.distance)
        self._measures: list[Share | Mean] = [*self.shares.values(), self.distances]
        self.length = 0.0  # about how many words the last sentence has
        # Of the unfinished sentence:
        self.units = self.clauses = self.words = 0
        self.said: set[object] = set()  # nouns, verbs, names of times, and what it has once only
        self.budget = WordBudget(0, 0, 0)
        self.tense, self.habit = "present", False  # of the clause that is being written
        self.doubts = False  # whether a verb is still to come that says a doubt
        self.deepest = 1  # most clauses around a clause
        self.in_subject = False  # whether the clause stands inside a subject
        self.few = True  # whether no more than two main clauses and a subordinate one are needed
        self.closed = False  # whether it ends behind a subordinate clause
        self.opening: Expression | None = None  # conjunction before the first clause
        self.second: Expression | None = None  # conjunction before the second, if known already
        self.joined: frozenset[str] = frozenset()  # other conjunctions

    def unit(self) -> int:
        """Return the number of a new unit."""
        self.units += 1
        return self.units

    @contextmanager
    def in_tense(self, tense: str, habit: bool = False) -> Iterator[None]:
        """Write clauses inside another in a tense of their own."""
        outer = self.tense, self.habit
        self.tense, self.habit = tense, habit
        try:
            yield
        finally:
            self.tense, self.habit = outer

    def counted(self) -> Counted:
        """Return all that is counted and said: what ``uncount`` goes back to."""
        lacks = [measure.lack for measure in self._measures]
        return replace(self.budget), self.clauses, self.words, {*self.said}, lacks

    def uncount(self, before: Counted) -> None:
        """Set all that is counted to what it was."""
        self.budget, self.clauses, self.words, self.said, lacks = before
        for measure, lack in zip(self._measures, lacks, strict=True):
            measure.lack = lack

    def first_kept(self, tries: int, draw: Callable[[], T], keep: Callable[[T], bool]) -> T:
        """Draw until something is kept; nothing else counts. Raises ``NothingLeftError``."""
        for _ in range(tries):
            before = self.counted()
            with suppress(NothingLeftError):
                drawn = draw()
                if keep(drawn):
                    return drawn
            self.uncount(before)
        raise NothingLeftError

    def is_kept(self, clause: Clause) -> bool:
        """Return whether a clause that was changed may be kept, with the clauses inside it."""
        return self._keep is None or all(map(self._keep, inner_clauses(clause)))
