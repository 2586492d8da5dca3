"""Resampled sentences and seeds: bootstrap intervals, paired tests and their correction.

Draws equal sacreBLEU's for the same seed, so that intervals and p-values can be compared with it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from lightning_modules.metrics.metric import Array

CELLS = 1 << 21  # counts or choices held in memory at a time: 16 MiB
UPPER = 0.975  # upper end of the middle 95%, as a probability


class Interval(NamedTuple):
    """The middle 95% of resampled scores."""

    low: float
    high: float


@dataclass(frozen=True)
class Resamples:
    """Number of resamples, and the seed of their draws."""

    count: int
    seed: int


def resampled_sums(statistics: Array, resamples: Resamples) -> Array:
    """Sum over sentences drawn with replacement: ``(sentences, k) -> (resamples, k)``."""
    sums = np.empty((resamples.count, statistics.shape[1]))
    for chosen, counts in resampled_counts(len(statistics), resamples):
        sums[chosen] = counts @ statistics
    return sums


def resampled_counts(sentences: int, resamples: Resamples) -> Iterator[tuple[slice, Array]]:
    """Yield how often resamples have each sentence, ``(some resamples, sentences)``.

    The slice tells which resamples.
    """
    generator = np.random.default_rng(resamples.seed)
    for start, stop in _chunks(resamples.count, sentences):
        drawn = generator.choice(sentences, size=(stop - start, sentences), replace=True)
        drawn += sentences * np.arange(stop - start)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        yield slice(start, stop), times.astype(np.float64)


def _chunks(count: int, width: int) -> Iterator[tuple[int, int]]:
    step = max(1, CELLS // max(width, 1))
    return ((start, min(start + step, count)) for start in range(0, count, step))


def interval(scores: Array) -> Interval:
    """Return the 95% interval of resampled scores ``(resamples,)`` by sacreBLEU's order statistics.

    Both ends are NaN if a resampled score is NaN.
    """
    ordered = np.sort(scores)  # NaN last
    if np.isnan(ordered[-1]):
        return Interval(np.nan, np.nan)
    cut = len(ordered) // 40
    return Interval(float(ordered[cut]), float(ordered[len(ordered) - cut - 1]))


def mean_over_seeds(scores: Array, seed: Sequence[int]) -> Array:
    """Resample seeds on top of sentences: ``(seeds, resamples) -> (resamples,)``.

    For every resample of the sentences, n of the n seeds are drawn with replacement and their
    scores averaged. The change that the draw of seeds makes is stretched by √(n / (n - 1)), so that
    the variance of the mean is s²/n (Rao and Wu 1988, JASA 83:231). The scores of a single seed
    stay unchanged, because they say nothing about other seeds.
    """
    seeds, resamples = scores.shape
    if seeds == 1:
        return scores[0]
    drawn = np.random.default_rng(seed).integers(seeds, size=(seeds, resamples))
    means = scores.mean(0)
    changes = scores[drawn, np.arange(resamples)].mean(0) - means
    return means + changes * np.sqrt(seeds / (seeds - 1))


def degrees_of_freedom(seed_scores: Sequence[Array], sentence_variance: float) -> float:
    """Return Welch and Satterthwaite's degrees of freedom of a sum of means over seeds.

    Each system has scores ``(seeds,)``; the variance is that of the sum over resampled sentences,
    for fixed seeds. Infinite where no system has several seeds, or the scores of its seeds are
    equal: then only the sentences vary, which are many.
    """
    several = [scores for scores in seed_scores if len(scores) > 1]
    variances = [float(scores.var(ddof=1)) / len(scores) for scores in several]
    total = sum(variances) + sentence_variance
    denominator = sum(
        variance**2 / (len(scores) - 1) for variance, scores in zip(variances, several, strict=True)
    )
    return total**2 / denominator if denominator else math.inf


def expansion(degrees: float) -> float:
    """Return the factor t/z of the 97.5% quantiles that widens an interval from few seeds.

    Without the factor, the interval of resampled differences is too narrow, because a few seeds
    estimate their variance badly (Hesterberg 2015, The American Statistician 69:371, the expanded
    percentile interval).
    """
    return 1.0 if math.isinf(degrees) else float(stdtrit(degrees, UPPER) / ndtri(UPPER))


def student_p(deviations: Array, observed: float, degrees: float) -> float:
    """Return the two-sided p-value of the difference ``observed``, by Student's t.

    ``deviations`` are the resampled differences less ``observed``; their standard deviation is the
    bootstrap's over seeds and sentences. Without t, two equal systems of two seeds each differ "at
    5%" in up to 29% of tests. The p-value is at least 1 / (resamples + 1), as a share of resamples.
    """
    spread = float(deviations.std())
    if not spread:
        return 1.0 if not observed else 1 / (len(deviations) + 1)
    return max(float(2 * stdtr(degrees, -abs(observed) / spread)), 1 / (len(deviations) + 1))


def bootstrap_p(differences: Array, observed: float) -> float:
    """Return the two-sided p-value of ``observed`` from resampled differences ``(resamples,)``.

    The p-value is the share of resampled differences that are at least as far from the observed
    difference as the observed difference is from 0. (The test of Moses and sacreBLEU centres
    absolute differences instead, and so calls 10% of equal systems different at 5%; see
    ``moses_p``.)
    """
    return _share(np.abs(differences - observed) >= abs(observed) - _rounding(observed))


def moses_p(differences: Array, observed: float) -> float:
    """Return the p-value of ``sacrebleu --paired-bs``, to compare with published p-values."""
    distances = np.abs(differences)
    return _share(distances - distances.mean() > abs(observed))


def randomised_differences(
    pairs: Sequence[tuple[int, int]],
    systems: Sequence[Array],
    score: Callable[[Array], Array],
    trials: Resamples,
) -> Array:
    """Return differences of scores after random exchanges of sentences, ``(pairs, trials)``.

    ``systems`` are the counts ``(sentences, columns)`` of each system; a pair holds two positions
    in ``systems``. In each trial, the two translations of a sentence are exchanged with probability
    1/2, for the same sentences in all pairs (Riezler and Maxwell 2005).
    """
    sentences, columns = systems[0].shape
    generator = np.random.default_rng(trials.seed)
    stays = generator.integers(2, size=(trials.count, sentences), dtype=bool)
    counts = np.concatenate(systems, axis=1)
    differences = np.empty((len(pairs), trials.count))
    for start, stop in _chunks(trials.count, sentences):
        # Sum both parts: the whole less the kept part may be a rounding error instead of 0 matches,
        # which changes BLEU.
        kept, exchanged = (
            (chosen.astype(np.float64) @ counts).reshape(-1, len(systems), columns)
            for chosen in (stays[start:stop], ~stays[start:stop])
        )
        for row, (first, second) in enumerate(pairs):
            one, other = (
                score(kept[:, a] + exchanged[:, b]) for a, b in ((first, second), (second, first))
            )
            differences[row, start:stop] = one - other
    return differences


def randomisation_p(differences: Array, observed: float) -> float:
    """Return the two-sided p-value of a difference from randomised differences ``(trials,)``."""
    return _share(np.abs(differences) >= abs(observed) - _rounding(observed))


def _rounding(value: float) -> float:
    """Return a tolerance for sums in another order, so that exchanging nothing counts as a tie."""
    return 1e-9 * max(1.0, abs(value))


def _share(as_large: NDArray[np.bool_]) -> float:
    """Count the observed value as one of the draws: never 0 (Phipson and Smyth 2010)."""
    return float((as_large.sum() + 1) / (len(as_large) + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's (1979) adjusted p-values of a family of tests, in the given order."""
    order = np.argsort(p_values, kind="stable")
    tests = len(order)
    raised = np.asarray(p_values, np.float64)[order] * (tests - np.arange(tests))
    adjusted = np.empty(tests)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return [float(value) for value in adjusted]
