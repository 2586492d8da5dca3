"""Which differences between systems a claim is about: two systems, an order, an optimum."""

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


def optimum(count: int, place: int, better: int = 1) -> Differences:
    """Return by how much the rung at ``place`` of ``count``, counted from 0, is the best.

    The effect is its value less the best value of the others. ``better`` is that of the metric: -1
    where low values are better.
    """
    systems = better * np.eye(count)
    return Differences((systems[place] - np.delete(systems, place, axis=0))[None])
