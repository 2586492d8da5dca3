"""Scores of several systems on a set of sentences and on resamples of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.lengths import THIN, Bounds, Bucket
from lightning_modules.metrics.resampling import Resamples, interval, resampled_sums
from lightning_modules.metrics.statistics import Array, Metric
from lightning_modules.metrics.systems import System

Scores = Mapping[tuple[str, str], Array]
"""By the names of system and metric."""


@dataclass(frozen=True)
class Estimate:
    """A score with its two uncertainties, which are kept apart."""

    value: float
    """The mean over seeds."""
    low: float | None = None
    """With ``high``, the 95% bootstrap interval over test sentences, these seeds given."""
    high: float | None = None
    deviation: float | None = None
    """Standard deviation over seeds; None for one."""
    seeds: tuple[float, ...] = ()
    """The score of each seed."""

    @classmethod
    def of(cls, scores: Array, resampled: Array) -> Self | None:
        """From scores ``(seeds,)`` and the mean over seeds of each resample ``(resamples,)``.

        None where a seed has no score; no interval where a resample has none.
        """
        if np.isnan(scores).any():
            return None
        low, high = interval(resampled)
        return cls(
            value=float(scores.mean()),
            low=None if np.isnan(low) else low,
            high=None if np.isnan(high) else high,
            deviation=float(scores.std(ddof=1)) if len(scores) > 1 else None,
            seeds=tuple(map(float, scores)),
        )


@dataclass(frozen=True, eq=False)
class Scope:
    """Systems on one set of sentences."""

    bounds: Bounds | None
    """Lengths of the sentences; None: the whole test set."""
    index: NDArray[np.int64]
    """The sentences' numbers."""
    scores: Scores
    """``(seeds,)``."""
    resampled: Scores
    """``(seeds, resamples)``; the same resamples for all."""

    @property
    def label(self) -> str:
        """The lengths, or ``all``."""
        return "all" if self.bounds is None else self.bounds.label

    @property
    def thin(self) -> bool:
        """Whether there are too few sentences to rely on."""
        return len(self.index) < THIN

    def estimate(self, system: str, metric: str) -> Estimate | None:
        """A system's score, None where it has none. One sentence alone has no interval."""
        scores = self.scores.get((system, metric))
        if scores is None:
            return None
        estimate = Estimate.of(scores, self.resampled[system, metric].mean(0))
        alone = len(self.index) == 1
        return replace(estimate, low=None, high=None) if estimate and alone else estimate


def scopes(
    systems: Sequence[System],
    metrics: Sequence[Metric],
    buckets: Sequence[Bucket],
    resamples: Resamples,
) -> list[Scope]:
    """The whole test set, then each length bucket, for systems that translated one test set.

    The whole is drawn with the seed itself, the bucket k with seed + k: buckets of one size must
    not share their draws. What a system has no counts for is left out.
    """
    everything = np.arange(len(systems[0].test.references))
    parts: Iterable[tuple[Bounds | None, NDArray[np.int64]]] = [
        (None, everything),
        *((bucket.bounds, bucket.index) for bucket in buckets),
    ]
    return [
        scope_of(systems, metrics, bounds, index, Resamples(resamples.count, resamples.seed + k))
        for k, (bounds, index) in enumerate(parts)
    ]


def scope_of(
    systems: Sequence[System],
    metrics: Sequence[Metric],
    bounds: Bounds | None,
    index: NDArray[np.int64],
    resamples: Resamples,
) -> Scope:
    """Score systems on the sentences ``index`` of their test set, and on resamples of them."""
    names = dict.fromkeys(metric.counts for metric in metrics)
    counted = {
        (system.name, name): np.stack([output.statistics[name][index] for output in system.outputs])
        for system in systems
        for name in names
        if all(name in output.statistics for output in system.outputs)
    }  # (seeds, sentences, columns)
    if not counted or not len(index):
        return Scope(bounds, index, {}, {})
    # All at once, so that all see the same resamples and these are drawn once.
    together = np.concatenate([part for each in counted.values() for part in each], axis=1)
    sums = _apart(together.sum(0), counted)
    resampled = _apart(resampled_sums(together, resamples), counted)
    keys = [
        (system.name, metric)
        for system in systems
        for metric in metrics
        if (system.name, metric.counts) in counted
    ]
    scores, of_resamples = (
        {(name, metric.name): metric.score(given[name, metric.counts]) for name, metric in keys}
        for given in (sums, resampled)
    )
    return Scope(bounds, index, scores, of_resamples)


def _apart(
    together: Array, counted: Mapping[tuple[str, str], Array]
) -> dict[tuple[str, str], Array]:
    """Split ``(…, columns of all)`` into ``(seeds, …, columns)`` of each."""
    apart, start = {}, 0
    for key, (seeds, _, columns) in ((key, part.shape) for key, part in counted.items()):
        stop = start + seeds * columns
        own = together[..., start:stop].reshape(*together.shape[:-1], seeds, columns)
        apart[key], start = np.moveaxis(own, -2, 0), stop
    return apart
