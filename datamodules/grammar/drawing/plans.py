"""How many words and clauses a sentence has, and which clause stands inside which."""

from dataclasses import dataclass

from datamodules.grammar.drawing.draws import Random

SHORTEST = 3  # fewest words of a clause
LONGEST = 12  # most words of a clause, without the clauses inside it
MEAN = 7  # mean words of a clause in a sentence of several clauses
BESIDE = 3  # clauses that a sentence of any length may have side by side
A_LEVEL = 30  # words of a sentence for each level of clauses in clauses


@dataclass(eq=False)
class Plan:
    """A clause to be written, with the clause inside it."""

    depth: int = 0
    inside: "Plan | None" = None


def plan_clauses(
    words: int, mean: float, embedding: float, random: Random, most: int, deepest: int
) -> tuple[list[Plan], int]:
    """Return the clauses side by side in a sentence of ``words`` words, and the number of all.

    ``mean`` is the mean number of words of a clause, ``embedding`` the probability that a clause
    after the first stands inside another; ``most`` of them stand side by side, and ``deepest``
    around another.
    """
    count = max(1, int(words / mean + random()))
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
    return beside, count


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
