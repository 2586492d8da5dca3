"""How many words and clauses a sentence has, and which clause stands inside which."""

from dataclasses import dataclass

from datamodules.grammar.drawing.draws import Random

SHORTEST = 3  # fewest words of a clause
LONGEST = 14  # most words of a clause, without the clauses inside it
MEAN = 7  # mean words of a clause in a sentence of several clauses
DEEPEST = 2  # most clauses around a clause
BESIDE = 3  # most clauses side by side, where the clauses inside others need not be rarer


@dataclass(eq=False)
class Plan:
    """A clause to be written, with the clause inside it."""

    depth: int = 0
    inside: "Plan | None" = None


def plan_clauses(
    words: int, mean: float, embedding: float, random: Random, most: int
) -> tuple[list[Plan], int]:
    """Return the clauses side by side in a sentence of ``words`` words, and the number of all.

    ``mean`` is the mean number of words of a clause, ``embedding`` the probability that a clause
    after the first stands inside another; ``most`` of them stand side by side.
    """
    count = max(1, int(words / mean + random()))
    beside = [Plan()]
    places = [beside[0]]
    for _ in range(count - 1):
        free = [plan for plan in places if plan.inside is None and plan.depth < DEEPEST]
        if free and (len(beside) == most or random() < embedding):
            least = min(plan.depth for plan in free)
            free = [plan for plan in free if plan.depth == least]
            host = free[int(random() * len(free))]
            host.inside = Plan(host.depth + 1)
            places.append(host.inside)
        elif len(beside) < most:
            beside.append(Plan())
            places.append(beside[-1])
    return beside, len(places)


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

    def spare(self, wanted: int) -> bool:
        """Take ``wanted`` words if the later clauses do not need them; return whether taken."""
        if wanted > self.free:
            return False
        self.words -= wanted
        return True
