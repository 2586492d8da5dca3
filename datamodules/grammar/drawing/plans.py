"""How many words and clauses a sentence has, and where each clause stands."""

from dataclasses import dataclass
from typing import NamedTuple

from datamodules.grammar.drawing.draws import Pool, Random
from datamodules.grammar.knobs import Knobs
from datamodules.grammar.meaning.phrases import Adjective, NounPhrase, Participant, Verb

SHORTEST = 3  # fewest words of a clause
LONGEST = 12  # most words of a clause, without the clauses inside it
MEAN = 7  # mean words of a clause in a sentence of several clauses
BESIDE = 3  # clauses that a sentence of any length may have side by side
A_LEVEL = 30  # words of a sentence for each level of clauses in clauses
WORDS_BESIDE = 5  # fewest words for each of many clauses side by side
NOUN_SHARE = 0.5  # rough share of clauses with a noun as subject


@dataclass(eq=False)
class Plan:
    """A clause to be written, with the clause inside it."""

    depth: int = 0
    inside: "Plan | None" = None


class Outline(NamedTuple):
    """The clauses of a sentence, with limits."""

    beside: list[Plan]  # side by side
    clauses: int  # all of them, also those inside others
    gap: float  # mean words between the subject and the verb of a clause
    most: int  # side by side
    deepest: int  # around another


def plan_clauses(
    wanted: int, words: int, knobs: Knobs, embedding: float, random: Random
) -> Outline:
    """Plan the clauses of a sentence of ``wanted`` words, of which some may stay unused: ``words``.

    ``embedding`` is the probability that a clause after the first stands inside another.
    """
    gap = NOUN_SHARE * knobs.distance
    most = max(BESIDE, 1 + int((1 - knobs.embedding) * wanted / WORDS_BESIDE))
    deepest = 1 + wanted // A_LEVEL
    count = max(1, int(words / (MEAN + gap) + random()))
    inside = sum(random() < embedding for _ in range(count - 1))
    beside = [Plan() for _ in range(min(most, count - inside))]
    # The last of several often has a conjunction whose clause is too short to hold another.
    hosts = beside[:-1] if len(beside) > 2 else beside
    free = [*hosts]
    for _ in range(count - len(beside)):
        if not free:
            break
        least = min(plan.depth for plan in free)
        host = [plan for plan in free if plan.depth == least]
        chosen = host[int(random() * len(host))]
        chosen.inside = Plan(chosen.depth + 1)
        free.remove(chosen)
        if chosen.inside.depth < deepest:
            free.append(chosen.inside)
    return Outline(beside, count, gap, most, deepest)


@dataclass(slots=True)
class ClausePlace:
    """Where a clause stands."""

    subject: Participant | None = None  # a bound pronoun; with some gaps, the antecedent
    object: NounPhrase | None = None  # the object of the clause before, for a pronoun
    gap: str = ""
    mark: str = ""  # what the verb must be like
    antecedent: NounPhrase | None = None
    verbs: Pool[Verb] | None = None  # the verbs that fit, if they are known already
    qualities: Pool[Adjective] | None = None  # the qualities, if it is one
    given: Participant | None = None  # an object that is known: a pronoun, or one with *whose*
    apart: NounPhrase | None = None  # an object that the subject must differ from in number
    words: int | None = None  # number of words; None for a part of the budget
    kind: str = ""
    """``reason`` after *because*, ``result`` after *so*, ``denied`` after *but*, ``moment`` after
    *before*, ``deed`` after *and*, ``event`` in a condition; otherwise empty."""
    negation: str | None = None  # the one that a clause behind *but* has
    last: bool = False  # whether no main clause follows
    subjunctive: bool = False
    first: bool = False  # whether *he*, *she* and *they* may stand for persons outside the sentence
    main: bool = False
    host: bool = False  # whether the clause holds another at its end
    named: bool = False  # whether the subject is a noun phrase
    timed: bool = True  # whether a main clause may have a time of its own
    fronts: bool = True  # whether a time may stand first in a main clause
    plain: bool = False  # whether no clause stands inside the clause
    asks: bool = False
    there: bool = False  # whether the clause before has a place

    @property
    def governs(self) -> bool:
        """Whether the antecedent is what the verb governs."""
        return self.gap in ("object", "oblique")


@dataclass
class WordBudget:
    """Words and clauses that a sentence has left."""

    words: int
    clauses: int
    gap: float  # mean words of a clause between its subject and its verb, which are taken apart

    def take(self, share: float) -> int:
        """Take the words of the next clause; ``share`` is its size relative to the mean."""
        self.clauses -= 1
        own = int(self.words - self.gap)
        if self.clauses > 0:
            own = int((self.words / (self.clauses + 1) - self.gap) * share + 0.5)
            own = min(own, self.words - SHORTEST * self.clauses)
        own = max(min(own, self.words, LONGEST), min(SHORTEST, self.words))
        self.words -= own
        return own

    @property
    def free(self) -> int:
        """Words that the later clauses do not need."""
        return self.words - (SHORTEST + 1) * self.clauses
