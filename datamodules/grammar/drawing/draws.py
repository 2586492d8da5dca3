"""Weighted random draws, equal on every platform."""

from bisect import bisect
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from functools import cache
from itertools import accumulate
from typing import Generic, TypeVar, TypeVarTuple

T = TypeVar("T")
Parts = TypeVarTuple("Parts")
Random = Callable[[], float]  # a function that draws a number uniformly from [0, 1)


class Pool(Generic[T]):
    """Items that are drawn in proportion to their weights."""

    __slots__ = ("bounds", "items")

    def __init__(self, items: Iterable[T], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        # Plain additions in order, because the rounding of ``sum`` depends on the Python version.
        sums = tuple(accumulate(weights))
        self.bounds = tuple(value / sums[-1] for value in sums[:-1])

    def draw(self, random: Random) -> T:
        """Draw one item."""
        return self.items[bisect(self.bounds, random())]


class Tables(dict[tuple[*Parts], T]):
    """Tables by key, built from the parts of the key where first needed."""

    def __init__(self, build: Callable[[*Parts], T]) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, key: tuple[*Parts]) -> T:
        built = self[key] = self._build(*key)
        return built


@cache
def zipf_weights(count: int, exponent: float, offset: int = 0) -> tuple[float, ...]:
    """Return ``(rank + offset) ** -exponent`` for the ranks 1 to ``count``.

    This is the law of Zipf and Mandelbrot: an offset levels the commonest ranks. Decimal numbers
    are used, because every platform rounds them in the same way.
    """
    context = Context(prec=12)
    power = Decimal(repr(-exponent))
    ranks = range(1 + offset, count + offset + 1)
    return tuple(float(context.power(Decimal(rank), power)) for rank in ranks)


class Share:
    """Probability of a choice, raised while too few choices were carried out, and lowered after."""

    def __init__(self, wanted: float, random: Random) -> None:
        self._wanted, self._random = wanted, random
        self.lack = 0.0

    @property
    def probability(self) -> float:
        """Probability of the next choice; one below 0 or above 1 is as good as those."""
        return self._wanted and self._wanted + self.lack / 4

    def draw(self) -> bool:
        """Draw the next choice; ``count`` tells whether it was carried out."""
        return self._random() < self.probability

    def choose(self) -> bool:
        """Draw the next choice, which is carried out."""
        chosen = self.draw()
        self.count(chosen, 1)
        return chosen

    def count(self, done: int, possible: int) -> None:
        """Take note of how many of the possible choices were carried out."""
        self.lack = max(-8.0, min(8.0, self.lack + self._wanted * possible - done))


class Mean:
    """Sizes whose mean is as asked for, although not every size fits."""

    def __init__(self, wanted: float) -> None:
        self._wanted = wanted
        self.lack = 0.0

    def allows(self, size: int) -> bool:
        """Return whether ``size`` may be written now; if it is, ``count`` must be called."""
        lack = self.lack + self._wanted
        self.lack = min(40.0, lack)
        return lack >= size / 2

    def count(self, size: int) -> None:
        """Take note of a size."""
        self.lack -= size
