"""The effect of a claim: what is measured on each seed, differences of systems, and an interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric, ratio
from lightning_modules.metrics.resampling import Interval, Resamples, resampled_counts

Rows = NDArray[np.int64]  # numbers of sentences, or of contrastive pairs


class Quantity(NamedTuple):
    """A number computed from a metric's scores on parts of a test set."""

    metric: Metric
    parts: Sequence[Rows | None]  # what is scored; None for the whole test set
    value: Callable[[Array], Array]  # `(parts, …) -> (…)`; NaN where a value is not defined


def score_on(metric: Metric, rows: Rows | None = None) -> Quantity:
    """Return a score on the whole test set, or on some rows."""
    return Quantity(metric, [rows], lambda scores: scores[0])


def slope_over(metric: Metric, buckets: Sequence[Bucket], log: bool = False) -> Quantity:
    """Return the rise of a score, or of its logarithm, for every ten words (``slope_per_ten``).

    The rise of the logarithm has no floor: a score near 0 can fall by half as well as any other.
    """
    rise = partial(slope_per_ten, buckets)
    parts = [bucket.index for bucket in buckets]
    return Quantity(metric, parts, (lambda scores: rise(_logarithm(scores))) if log else rise)


def _logarithm(scores: Array) -> Array:
    return np.log(scores, out=np.full_like(scores, np.nan), where=scores > 0)


def share_left(metric: Metric, beyond: Rows, inside: Rows) -> Quantity:
    """Return the score on some sentences (``beyond``) divided by that on others; 1 is no fall.

    NaN where the score inside is 0.
    """
    return Quantity(metric, [beyond, inside], lambda scores: ratio(np.moveaxis(scores, 0, -1)))


class SystemValues(NamedTuple):
    """A quantity of one system."""

    observed: Array  # on the test set, `(seeds,)`
    resampled: Array | None = None
    """On resampled test sets, ``(seeds, resamples)``; None where each seed has its own test set,
    so that ``observed`` varies over sentences too."""


class Draws:
    """Resamples of one test set, drawn once.

    A row of the statistics is a sentence, or one of several contrastive pairs of a sentence; rows
    of a sentence are drawn together. ``sentence`` has the number of the sentence of each row,
    ``(rows,)``, from 0 without gaps.
    """

    def __init__(self, sentence: Rows, resamples: Resamples) -> None:
        self._sentence = sentence
        self._resamples = resamples
        self.sentences = int(sentence.max()) + 1

    @cached_property
    def _times(self) -> Array:
        """How often each resample has each sentence, ``(sentences, resamples)``."""
        times = np.empty((self.sentences, self._resamples.count))
        for chosen, counts in resampled_counts(self.sentences, self._resamples):
            times[:, chosen] = counts.T
        return times

    def values(self, quantity: Quantity, statistics: Sequence[Array]) -> SystemValues:
        """Return a quantity of a system from each seed's statistics, ``(rows, columns)``.

        The values depend on nothing else that is asked for. Raises ``ValueError`` if a seed has no
        value, on the test set or on a resample.
        """
        joined = np.stack(statistics, axis=1)  # (rows, seeds, columns)
        scores = [self._scores(quantity, joined, part) for part in quantity.parts]
        observed, resampled = (quantity.value(np.stack(each)) for each in zip(*scores, strict=True))
        _check(quantity.metric, observed)
        if not np.isfinite(resampled).all():
            name = quantity.metric.label
            raise ValueError(f"{name} has no value on some resampled test sets: too few sentences")
        return SystemValues(observed, resampled)

    def _scores(self, quantity: Quantity, joined: Array, part: Rows | None) -> tuple[Array, Array]:
        """Return scores ``(seeds,)`` and ``(seeds, resamples)`` of one part of the test set."""
        rows = np.arange(len(joined)) if part is None else part
        drawn, place = np.unique(self._sentence[rows], return_inverse=True)
        sums = np.zeros((len(drawn), *joined.shape[1:]))
        np.add.at(sums, place, joined[rows])
        times = self._times if len(drawn) == self.sentences else self._times[drawn]
        _, seeds, columns = sums.shape
        resampled = sums.reshape(len(drawn), -1).T @ times
        by_seed = np.moveaxis(resampled.reshape(seeds, columns, -1), 1, 2)
        return quantity.metric.score(sums.sum(0)), quantity.metric.score(by_seed)


def values_of_samples(quantities: Sequence[Quantity], statistics: Sequence[Array]) -> SystemValues:
    """Return a quantity of a system whose seeds have test sets of their own.

    Each seed has its quantity, on the rows of its test set, and its statistics ``(rows, columns)``.
    Raises ``ValueError`` if a seed has no value.
    """

    def value(quantity: Quantity, counts: Array) -> float:
        parts = [counts if part is None else counts[part] for part in quantity.parts]
        scores = [quantity.metric.score(each.sum(0)) for each in parts]
        return float(quantity.value(np.stack(scores)))

    observed = np.array([value(*each) for each in zip(quantities, statistics, strict=True)])
    _check(quantities[0].metric, observed)
    return SystemValues(observed)


def _check(metric: Metric, observed: Array) -> None:
    if not np.isfinite(observed).all():
        seed = int(np.flatnonzero(~np.isfinite(observed))[0]) + 1
        raise ValueError(f"{metric.label} has no value for seed number {seed}")


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences between systems, in a table whose best row is judged by its smallest entry.

    The effect is the largest over rows of the smallest over columns. A claim about two systems is
    a table of one entry.
    """

    weights: Array
    """What each difference adds of each system's mean over seeds: ``(rows, columns, systems)``."""
    reference: float = 0.0  # subtracted from each difference

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


WIDENING = 0.12
"""Widens Student's t by 1 + WIDENING / (seeds - 1).

Welch's degrees of freedom are too many where one system varies more over its seeds than the other.
The simulations of ``tests.tools.simulate_claims`` set the number: with it, no direction is wrong in
more than 5% at any ratio of the variances.
"""


@dataclass(frozen=True, eq=False)
class Spread:
    """Means of systems over seeds, and what they vary by; ``…`` are simulated repetitions."""

    means: Array  # mean over seeds, `(…, systems)`
    seeds: NDArray[np.int64]  # number of seeds, `(systems,)`
    between_seeds: Array
    """Variance between the seeds' values on one test set, ``(…, systems)``; NaN for one seed."""
    both: Array  # part of `between_seeds` that the sentences explain, σ²(both), `(systems,)`
    sentences: Array
    """Covariance over sentences that all seeds share, σ²(sentences), ``(systems, systems)``."""

    @classmethod
    def of(cls, values: Sequence[SystemValues]) -> Self:
        """Estimate from the values of systems, all on the same resamples or all without.

        Seeds with test sets of their own vary over sentences too: nothing is left to be added.
        """
        seeds = np.array([len(each.observed) for each in values])
        means = np.array([each.observed.mean() for each in values])
        between = np.array(
            [each.observed.var(ddof=1) if len(each.observed) > 1 else np.nan for each in values]
        )
        resampled = [each.resampled for each in values if each.resampled is not None]
        if not resampled:
            nothing = np.zeros((len(seeds), len(seeds)))
            return cls(means, seeds, between, nothing[0], nothing)
        rows = np.concatenate(resampled)
        covariance = np.atleast_2d(np.cov(rows))
        member = np.repeat(np.eye(len(seeds)), seeds, axis=0)  # (seeds of all, systems)
        sums = member.T @ covariance @ member
        own = np.diag(covariance) @ member  # sum of the seeds' variances
        pairs = np.outer(seeds, seeds) - np.diag(seeds)
        # A single seed has no pair: then its variance stands for the covariance.
        alone = np.diag(np.where(seeds == 1, own, 0))
        shared = np.divide(sums - np.diag(own), pairs, where=pairs > 0, out=alone)
        both = np.maximum(own / seeds - np.diag(shared), 0)
        return cls(means, seeds, between, both, shared)


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


def widest_interval(spread: Spread, differences: Differences, level: float) -> Interval:
    """Return the ends, ``(…)`` each, that the interval of no difference of a table goes beyond."""
    entries = differences.entries(spread.means)
    half = _half_widths(spread, differences.weights, (1 - level) / 2)
    return Interval((entries - half).min((-2, -1)), (entries + half).max((-2, -1)))


def _half_widths(spread: Spread, weights: Array, tail: float) -> Array:
    """Return half the width of each difference's interval, ``(…, rows, columns)``.

    What the sentences explain is known from many sentences, and gets the quantile z of a normal
    distribution. What varies beyond that over seeds is known from few seeds, and gets the quantile
    of Student's t with Welch's degrees of freedom. Squares of both add up.
    """
    known, parts = _variances(spread, weights)
    variance = parts.sum(-1)
    summed = (parts**2 / (spread.seeds - 1)).sum(-1)
    degrees = np.divide(variance**2, summed, where=summed > 0, out=np.ones_like(variance))
    fewest = np.where(weights != 0, spread.seeds, spread.seeds.max()).min(-1)
    t = stdtrit(degrees, 1 - tail) * (1 + WIDENING / (fewest - 1))
    return np.sqrt(ndtri(1 - tail) ** 2 * known + t**2 * variance)


def _variances(spread: Spread, weights: Array) -> tuple[Array, Array]:
    """Return the variance of differences that sentences explain, and that of each system beyond.

    They are ``(rows, columns)`` and ``(…, rows, columns, systems)``.
    """
    squares = weights**2
    known = np.einsum("rcs,st,rct->rc", weights, spread.sentences, weights).clip(0)
    beyond = (spread.between_seeds - spread.both).clip(0) / spread.seeds
    return known + squares @ (spread.both / spread.seeds), squares * beyond[..., None, None, :]


def standard_error(spread: Spread, differences: Differences) -> float:
    """Return the standard error of the effect of a single difference."""
    known, parts = _variances(spread, differences.weights)
    return float(np.sqrt(known + parts.sum(-1)).item())


def rank_agreement(values: Sequence[SystemValues]) -> SystemValues:
    """Return Kendall's τ between the claimed order and the scores of each seed, as one system.

    ``values`` are those of the systems, the claimed best first, with the same seeds. τ is the share
    of pairs in the claimed order less that of pairs in the other one: 1 if the seed has the claimed
    order, -1 if it has the opposite one. Equal scores count as neither.
    """

    def agreement(scores: Array) -> Array:
        first, second = np.triu_indices(len(scores), 1)
        return np.sign(scores[first] - scores[second]).mean(0)

    resampled = [each.resampled for each in values]
    known = [each for each in resampled if each is not None]
    return SystemValues(
        agreement(np.stack([each.observed for each in values])),
        agreement(np.stack(known)) if len(known) == len(values) else None,
    )


def agreement_spread(values: SystemValues) -> Spread:
    """Return the spread of rank agreements, which varies as if one more seed had none.

    τ takes few values, so that a few seeds are often all alike, which does not make their mean
    certain: n equal seeds and one of 0 vary by τ² / (n + 1) (compare Agresti and Coull 1998).
    """
    spread = Spread.of([values])
    least = spread.means**2 / (spread.seeds + 1)
    return replace(spread, between_seeds=np.maximum(spread.between_seeds, least))


def pair_differences(
    values: Sequence[SystemValues], differences: Differences
) -> tuple[list[SystemValues], Differences]:
    """Return each difference as a system of its own, and the differences of these systems.

    ``values`` are those of systems with the same trainings, in the same order of seeds.
    """
    weights = differences.weights.reshape(-1, differences.weights.shape[-1])
    return [combine(values, each) for each in weights], _each_alone(differences)


def combine(values: Sequence[SystemValues], weights: Array) -> SystemValues:
    """Return the weighted sum of values with the same seeds, seed by seed."""
    resampled = [each.resampled for each in values if each.resampled is not None]
    return SystemValues(
        weights @ np.stack([each.observed for each in values]),
        np.einsum("s,s...->...", weights, np.stack(resampled)) if resampled else None,
    )


def pair_spread(spread: Spread, differences: Differences) -> tuple[Spread, Differences]:
    """Return the same of assumed variances: what a seed adds to all systems, no difference has.

    The differences must be of systems with each other, so that their weights sum to 0.
    """
    weights = differences.weights.reshape(-1, len(spread.means))
    both = weights**2 @ spread.both
    of_differences = Spread(
        means=weights @ spread.means,
        seeds=np.full(len(weights), spread.seeds.min()),
        between_seeds=both,
        both=both,
        sentences=weights @ spread.sentences @ weights.T,
    )
    return of_differences, _each_alone(differences)


def _each_alone(differences: Differences) -> Differences:
    rows, columns, _ = differences.weights.shape
    own = np.eye(rows * columns).reshape(rows, columns, -1)
    return Differences(own, differences.reference)
