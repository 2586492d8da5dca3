"""The effect of a claim with its interval over seeds and test sentences together.

The value of seed a on a test set varies by σ²(seeds) + σ²(sentences) + σ²(both): by a part that is
the seed's on any test set, a part that all seeds share on this test set, and a part that only this
seed has on these sentences. The mean of k seeds varies by
σ²(seeds)/k + σ²(sentences) + σ²(both)/k.

- The variance between the seeds' values on one test set is σ²(seeds) + σ²(both).
- The bootstrap over sentences gives σ²(sentences), the covariance of two seeds of a system (or of
  two systems) on the same resamples, and σ²(both), what a seed's variance has more than that.

The sum of the variance between seeds and the variance of the resampled mean, each for k seeds,
would count σ²(both)/k twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.uncertainty.resampling import Interval
from sweeps.claims.statistics.differences import Differences
from sweeps.claims.statistics.draws import Values

WIDENING = 0.12
"""Widens Student's t by 1 + WIDENING / (seeds - 1).

Welch's degrees of freedom are too many where one system varies more over its seeds than the other.
The simulations of ``tests.simulations.claims`` set the number: with it, no direction is wrong in
more than 5% at any ratio of the variances.
"""


@dataclass(frozen=True, eq=False)
class Spread:
    """Means of systems over seeds, and what they vary by; ``…`` are simulated repetitions."""

    means: Array
    """Mean over seeds, ``(…, systems)``."""
    seeds: NDArray[np.int64]
    """Number of seeds, ``(systems,)``."""
    between_seeds: Array
    """Variance between the seeds' values on one test set, ``(…, systems)``; NaN for one seed."""
    both: Array
    """Part of ``between_seeds`` that the sentences explain, σ²(both), ``(systems,)``."""
    sentences: Array
    """Covariance over sentences that all seeds share, σ²(sentences), ``(systems, systems)``."""

    @classmethod
    def of(cls, values: Sequence[Values]) -> Self:
        """Estimate from the values of systems, all on the same resamples."""
        seeds = np.array([len(each.observed) for each in values])
        rows = np.concatenate([each.resampled for each in values])
        covariance = np.atleast_2d(np.cov(rows))
        member = np.repeat(np.eye(len(seeds)), seeds, axis=0)  # (seeds of all, systems)
        sums = member.T @ covariance @ member
        own = np.diag(covariance) @ member  # sum of the seeds' variances
        pairs = np.outer(seeds, seeds) - np.diag(seeds)
        # A single seed has no pair: then its variance stands for the covariance.
        alone = np.diag(np.where(seeds == 1, own, 0))
        shared = np.divide(sums - np.diag(own), pairs, where=pairs > 0, out=alone)
        return cls(
            means=np.array([each.observed.mean() for each in values]),
            seeds=seeds,
            between_seeds=np.array([_variance(each.observed) for each in values]),
            both=np.maximum(own / seeds - np.diag(shared), 0),
            sentences=shared,
        )


def _variance(scores: Array) -> float:
    return float(scores.var(ddof=1)) if len(scores) > 1 else np.nan


def effect_interval(spread: Spread, differences: Differences, level: float) -> Interval:
    """Return the interval of a claim's effect at ``level``, such as 0.95; each end ``(…)``.

    For a table of differences, the low end is the largest over rows of the smallest low end over
    columns: for the claim to hold in a row, each of its differences must be large, which needs no
    correction, but rows are a choice, which needs Bonferroni's. For the high end rows and columns
    change parts.
    """
    tail = (1 - level) / 2
    entries = differences.entries(spread.means)
    rows, columns = entries.shape[-2:]
    low = entries - _half_widths(spread, differences.weights, tail / rows)
    high = entries + _half_widths(spread, differences.weights, tail / columns)
    return Interval(low.min(-1).max(-1), high.max(-2).min(-1))


def _half_widths(spread: Spread, weights: Array, tail: float) -> Array:
    """Return half the width of each difference's interval, ``(…, rows, columns)``.

    What the sentences explain is known from many sentences, and gets the quantile z of a normal
    distribution. What varies beyond that over seeds is known from few seeds, and gets the quantile
    of Student's t with Welch's degrees of freedom. Squares of both add up.
    """
    squares = weights**2
    known = np.einsum("rcs,st,rct->rc", weights, spread.sentences, weights).clip(0)
    known = known + squares @ (spread.both / spread.seeds)
    beyond = (spread.between_seeds - spread.both).clip(0) / spread.seeds
    parts = squares * beyond[..., None, None, :]  # (…, rows, columns, systems)
    variance = parts.sum(-1)
    summed = (parts**2 / (spread.seeds - 1)).sum(-1)
    degrees = np.divide(variance**2, summed, where=summed > 0, out=np.ones_like(variance))
    fewest = np.where(weights != 0, spread.seeds, spread.seeds.max()).min(-1)
    t = stdtrit(degrees, 1 - tail) * (1 + WIDENING / (fewest - 1))
    return np.sqrt(ndtri(1 - tail) ** 2 * known + t**2 * variance)
