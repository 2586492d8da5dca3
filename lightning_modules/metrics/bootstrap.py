"""Scores of systems on subsets of the test sentences, and on bootstrap resamples of a subset."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.contrast_choices import RIGHT_CHOICES, PairChoices
from lightning_modules.metrics.lengths import THIN, Bounds, Bucket
from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.resampling import (
    Resamples,
    for_sums,
    interval,
    resampled_counts,
    resampled_sums,
)
from lightning_modules.metrics.systems import EvalSet, Output, System

Scores = Mapping[tuple[str, str], Array]  # scores by the names of system and metric


@dataclass(frozen=True)
class Estimate:
    """A score with two separate uncertainties: over test sentences and over seeds."""

    value: float  # mean over seeds
    low: float | None = None
    """With ``high``, the 95% bootstrap interval over test sentences, for fixed seeds."""
    high: float | None = None
    deviation: float | None = None  # standard deviation over seeds; None for a single seed
    seeds: tuple[float, ...] = ()  # score of each seed

    def __neg__(self) -> "Estimate":
        """Return the estimate of the score times -1, as of a difference the other way round."""
        return Estimate(
            -self.value,
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
            self.deviation,
            tuple(-score for score in self.seeds),
        )

    @classmethod
    def of(cls, scores: Array, resampled: Array) -> Self | None:
        """Make an estimate of scores ``(seeds,)`` and mean resampled scores ``(resamples,)``.

        Return None where a seed has no score; leave the interval out where a resample has none.
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
class ScoredSubset:
    """Scores of systems on one subset of the test sentences."""

    bounds: Bounds | None  # lengths of the sentences; None for the whole test set
    index: NDArray[np.int64]  # numbers of the sentences
    draws: Resamples  # number and seed of the resamples
    scores: Scores  # score of each seed, `(seeds,)`
    resampled: Scores
    """Scores ``(seeds, resamples)``, on the same resamples for all systems and metrics."""

    @property
    def label(self) -> str:
        """The lengths, or ``all``."""
        return "all" if self.bounds is None else self.bounds.label

    @property
    def thin(self) -> bool:
        """Whether the subset has too few sentences to rely on."""
        return len(self.index) < THIN

    def estimate(self, system: str, metric: str) -> Estimate | None:
        """Return a system's score, or None without a score. One sentence has no interval."""
        scores = self.scores.get((system, metric))
        if scores is None:
            return None
        estimate = Estimate.of(scores, self.resampled[system, metric].mean(0))
        alone = len(self.index) == 1
        return replace(estimate, low=None, high=None) if estimate and alone else estimate


def score_subsets(
    systems: Sequence[System],
    metrics: Sequence[Metric],
    buckets: Sequence[Bucket],
    resamples: Resamples,
) -> list[ScoredSubset]:
    """Score systems of one test set on the whole test set, then on each length bucket.

    The whole test set is drawn with the seed itself, bucket k with seed + k: buckets of equal size
    must not share their draws. A bucket of all sentences is the whole test set. Metrics for which a
    system has no counts are left out.
    """
    index = np.arange(len(systems[0].test.references))
    whole = score_subset(systems, metrics, None, index, resamples)
    subsets = [whole]
    for number, bucket in enumerate(buckets, start=1):
        draws = Resamples(resamples.count, resamples.seed + number)
        subsets.append(
            replace(whole, bounds=bucket.bounds)
            if len(bucket.index) == len(index)
            else score_subset(systems, metrics, bucket.bounds, bucket.index, draws)
        )
    return subsets


def score_subset(
    systems: Sequence[System],
    metrics: Sequence[Metric],
    bounds: Bounds | None,
    index: NDArray[np.int64],
    resamples: Resamples,
) -> ScoredSubset:
    """Score systems on the sentences ``index`` of their test set, and on resamples of ``index``."""
    counts = _counts(systems, metrics, index)
    if not counts or not len(index):
        return ScoredSubset(bounds, index, resamples, {}, {})
    joined = _join(counts)
    whole_sums = _split(joined.sum(0), counts)
    sums_of_resamples = _split(resampled_sums(joined, resamples), counts)
    keys = [
        (system.name, metric)
        for system in systems
        for metric in metrics
        if (system.name, metric.statistics) in counts
    ]
    scores, resampled = (
        {(name, metric.name): metric.score(sums[name, metric.statistics]) for name, metric in keys}
        for sums in (whole_sums, sums_of_resamples)
    )
    return ScoredSubset(bounds, index, resamples, scores, resampled)


def further_scores(
    systems: Sequence[System], metric: Metric, subset: ScoredSubset, most: int, width: int
) -> Iterator[list[Array]]:
    """Yield scores ``(seeds, some resamples)`` of each system on the draws after those of a subset.

    There are up to ``most`` draws in all, those of the subset included. They are yielded in the
    same parts for all subsets of the same ``width``, which are of at most as many sentences.
    """
    counts = _counts(systems, [metric], subset.index)
    joined = for_sums(_join(counts)).T.copy()
    draws = Resamples(most, subset.draws.seed)
    width = max(width, len(joined))
    for _, times in resampled_counts(len(subset.index), draws, subset.draws.count, width):
        sums = _split((joined @ times.T).T.astype(np.float64), counts)
        yield [metric.score(sums[system.name, metric.statistics]) for system in systems]


def _counts(
    systems: Sequence[System], metrics: Sequence[Metric], index: NDArray[np.int64]
) -> dict[tuple[str, str], Array]:
    """Return the statistics that each system has, ``(seeds, sentences, columns)``."""
    return {
        (system.name, name): np.stack([output.statistics[name][index] for output in system.outputs])
        for system in systems
        for name in dict.fromkeys(metric.statistics for metric in metrics)
        if all(name in output.statistics for output in system.outputs)
    }


def _join(counts: Mapping[tuple[str, str], Array]) -> Array:
    """Put the columns of all systems side by side: all see the same resamples, drawn once."""
    return np.concatenate([output for each in counts.values() for output in each], axis=1)


def _split(joined: Array, counts: Mapping[tuple[str, str], Array]) -> dict[tuple[str, str], Array]:
    """Split the columns of all ``counts``, ``(…, columns)``, into ``(seeds, …, columns)`` each."""
    parts, start = {}, 0
    for key, (seeds, _, columns) in ((key, each.shape) for key, each in counts.items()):
        stop = start + seeds * columns
        part = joined[..., start:stop].reshape(*joined.shape[:-1], seeds, columns)
        parts[key], start = np.moveaxis(part, -2, 0), stop
    return parts


class ScoredGroup(NamedTuple):
    """Scores of systems on a group of pairs."""

    kind: str
    name: str
    pairs: int
    systems: Sequence[System]  # the systems with their counts for each source sentence of the group
    subset: ScoredSubset  # scores on all these source sentences

    def estimate(self, system: str) -> Estimate | None:
        """Return a system's share of right choices, in percent."""
        return self.subset.estimate(system, RIGHT_CHOICES.name)


def score_groups(
    systems: Mapping[str, Mapping[int, PairChoices]], resamples: Resamples
) -> list[ScoredGroup]:
    """Score the choices of systems, by name and seed, on each group of the same pairs.

    Pairs of the same source sentence are resampled together. Group k is drawn with seed + k.
    """
    if not systems:
        return []
    first = next(iter(next(iter(systems.values())).values()))
    scored = []
    for number, (kind, name, chosen) in enumerate(first.groups):
        if not chosen.any():
            continue
        members = []
        for each, by_seed in systems.items():
            counts = {s: {RIGHT_CHOICES.counts: c.counts(chosen)} for s, c in by_seed.items()}
            outputs = [Output(seed, [], statistics, ()) for seed, statistics in counts.items()]
            members.append(System(each, EvalSet([]), outputs))
        sources = np.arange(len(np.unique(first.source[chosen])))
        draws = Resamples(resamples.count, resamples.seed + number)
        subset = score_subset(members, [RIGHT_CHOICES], None, sources, draws)
        scored.append(ScoredGroup(kind, name, int(chosen.sum()), members, subset))
    return scored
