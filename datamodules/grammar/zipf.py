"""Weighted draws: Zipf's law over ranked words, and sequences of an exact total length."""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import sqrt
from typing import Generic, TypeVar

T = TypeVar("T")
Random = Callable[[], float]
"""Draws uniformly from [0, 1)."""


class Table(Generic[T]):
    """Items drawn in proportion to their weights."""

    __slots__ = ("bounds", "items", "total")

    def __init__(self, items: Iterable[T], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        # Plain additions in order: ``sum`` rounds otherwise from one Python to the next.
        sums = tuple(accumulate(weights))
        self.total = sums[-1]
        self.bounds = tuple(value / self.total for value in sums[:-1])

    def draw(self, random: Random) -> T:
        """Draw one item."""
        return self.items[bisect(self.bounds, random())]


def zipf_weights(count: int) -> list[float]:
    """Return the weight of each rank under Zipf's law with exponent 3/2, the first rank first.

    Quotients and square roots, unlike other powers, are rounded alike on every platform.
    """
    return [1 / (rank * sqrt(rank)) for rank in range(1, count + 1)]


def zipf(items: Sequence[T]) -> Table[T]:
    """Return a table of ranked items, the commonest first."""
    return Table(items, zipf_weights(len(items)))


Option = tuple[T, int, float]
"""A choice, the words it takes, its weight."""


class ExactLength(Generic[T]):
    """Draws one option from each slot so that the words add up to a wanted number.

    Among the sequences of that length, one is drawn in proportion to the product of its weights.
    """

    def __init__(self, slots: Sequence[Sequence[Option[T]]], most: int) -> None:
        self._steps: list[list[Table[tuple[T, int]] | None]] = []
        totals = [1.0] + [0.0] * most  # of the slots after the current one, by words
        for slot in reversed(slots):
            tables = [_step(slot, totals, words) for words in range(most + 1)]
            self._steps.insert(0, tables)
            weight = Table(slot, (option[2] for option in slot)).total
            totals = [0.0 if table is None else table.total / weight for table in tables]
        self.totals = totals
        """Probability of each length, were every slot drawn on its own; 0 for what cannot be."""

    def draw(self, words: int, random: Random) -> list[T]:
        """Draw a sequence of ``words`` words; one of those not 0 in ``totals``."""
        choices = []
        for tables in self._steps:
            table = tables[words]
            assert table is not None
            choice, taken = table.draw(random)
            words -= taken
            choices.append(choice)
        return choices


def _step(
    slot: Sequence[Option[T]], rest: Sequence[float], words: int
) -> Table[tuple[T, int]] | None:
    fitting = [
        ((choice, taken), weight * rest[words - taken])
        for choice, taken, weight in slot
        if taken <= words and rest[words - taken] > 0
    ]
    if not fitting:
        return None
    return Table([choice for choice, _ in fitting], [weight for _, weight in fitting])
