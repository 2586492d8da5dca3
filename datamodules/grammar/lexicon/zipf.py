"""Weighted random draws: Zipf's law over ranked words, and sequences of an exact total length."""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import sqrt
from typing import Generic, TypeVar

T = TypeVar("T")
Random = Callable[[], float]
"""A function that draws a number uniformly from [0, 1)."""


class Table(Generic[T]):
    """Items that are drawn in proportion to their weights."""

    __slots__ = ("bounds", "items", "total")

    def __init__(self, items: Iterable[T], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        # Plain additions in order, because the rounding of ``sum`` depends on the Python version.
        sums = tuple(accumulate(weights))
        self.total = sums[-1]
        self.bounds = tuple(value / self.total for value in sums[:-1])

    def draw(self, random: Random) -> T:
        """Draw one item."""
        return self.items[bisect(self.bounds, random())]


def zipf_weights(count: int) -> list[float]:
    """Return the weight of each rank under Zipf's law with exponent 3/2, the first rank first.

    Quotients and square roots are used because, unlike other powers, every platform rounds
    quotients and square roots in the same way.
    """
    return [1 / (rank * sqrt(rank)) for rank in range(1, count + 1)]


def zipf(items: Sequence[T]) -> Table[T]:
    """Return a table of ``items``, which are ranked from the commonest to the rarest."""
    return Table(items, zipf_weights(len(items)))


Option = tuple[T, int, float]
"""A choice with its number of words and its weight."""


class ExactLength(Generic[T]):
    """Draws one option from each slot so that the word counts add up to a given number.

    The probability of a sequence is proportional to the product of the weights of its options.
    """

    def __init__(self, slots: Sequence[Sequence[Option[T]]], longest: int) -> None:
        self._steps: list[list[Table[tuple[T, int]] | None]] = []
        totals = [1.0] + [0.0] * longest  # for the slots after the current slot, by words
        for slot in reversed(slots):
            tables = [_step(slot, totals, words) for words in range(longest + 1)]
            self._steps.insert(0, tables)
            weight = Table(slot, (option[2] for option in slot)).total
            totals = [0.0 if table is None else table.total / weight for table in tables]
        self.totals = totals
        """Probability of each length if every slot is drawn independently; 0 if impossible."""

    def draw(self, words: int, random: Random) -> list[T]:
        """Draw a sequence of ``words`` words; ``totals[words]`` must not be 0."""
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
    matches = [
        ((choice, taken), weight * rest[words - taken])
        for choice, taken, weight in slot
        if taken <= words and rest[words - taken] > 0
    ]
    if not matches:
        return None
    return Table([choice for choice, _ in matches], [weight for _, weight in matches])
