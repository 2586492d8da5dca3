"""Which differences between systems a claim is about: two systems, an order, an optimum."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from lightning_modules.metrics.metric import Array


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences between systems, in a table whose best row is judged by its smallest entry.

    The effect is the largest over rows of the smallest over columns. A claim about two systems is
    a table of one entry.
    """

    weights: Array
    """What each difference adds of each system's mean over seeds: ``(rows, columns, systems)``."""
    reference: float = 0.0
    """Subtracted from each difference."""

    def entries(self, means: Array) -> Array:
        """Return the differences ``(…, rows, columns)`` of means ``(…, systems)``."""
        return np.einsum("rcs,...s->...rc", self.weights, means) - self.reference

    def effect(self, means: Array) -> Array:
        """Return the effect ``(…)`` of means over seeds ``(…, systems)``."""
        return self.entries(means).min(-1).max(-1)


def above(reference: float) -> Differences:
    """Return by how much one system is above a fixed number."""
    return Differences(np.ones((1, 1, 1)), reference)


def below(reference: float) -> Differences:
    """Return by how much one system is below a fixed number."""
    return Differences(-np.ones((1, 1, 1)), -reference)


def difference() -> Differences:
    """Return by how much the first of two systems is above the second."""
    return order(2)


def order(count: int) -> Differences:
    """Return the smallest step down between neighbours, for systems given highest first.

    The effect is above 0 when the systems are in this order without exception.
    """
    steps = np.eye(count)[:-1] - np.eye(count)[1:]
    return Differences(steps[None])


def optimum(count: int, places: Collection[int], better: int = 1) -> Differences:
    """Return by how much the best of ``count`` rungs lies within ``places`` (counted from 0).

    The effect is the best value at ``places`` less the best value elsewhere. ``better`` is that of
    the metric: -1 where low values are better. Raises ``ValueError`` unless there are rungs in and
    outside ``places``.
    """
    inside = [place for place in range(count) if place in places]
    outside = [place for place in range(count) if place not in places]
    if not inside or not outside or len(inside) != len(set(places)):
        raise ValueError(f"places of an optimum: some, not all, of 0 to {count - 1}")
    systems = better * np.eye(count)
    return Differences(systems[inside][:, None] - systems[outside][None])
