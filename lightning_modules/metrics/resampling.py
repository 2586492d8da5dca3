"""Resampling sentences: bootstrap intervals, paired tests, and seeds above sentences.

Draws are those of sacreBLEU for the same seed, so intervals and p-values can be checked against it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from lightning_modules.metrics.statistics import Array

CELLS = 1 << 21
"""Counts or choices held at a time: 16 MiB."""
UPPER = 0.975
"""The upper end of the middle 95%."""


class Interval(NamedTuple):
    """The middle 95% of resampled scores."""

    low: float
    high: float


@dataclass(frozen=True)
class Resamples:
    """How often and from which seed to draw."""

    count: int
    seed: int


def resampled_sums(statistics: Array, resamples: Resamples) -> Array:
    """Sum over sentences drawn with replacement: ``(sentences, k) -> (resamples, k)``."""
    sentences = len(statistics)
    generator = np.random.default_rng(resamples.seed)
    sums = np.empty((resamples.count, statistics.shape[1]))
    for start, stop in _chunks(resamples.count, sentences):
        drawn = generator.choice(sentences, size=(stop - start, sentences), replace=True)
        drawn += sentences * np.arange(stop - start)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        sums[start:stop] = times.astype(np.float64) @ statistics
    return sums


def _chunks(count: int, width: int) -> Iterator[tuple[int, int]]:
    step = max(1, CELLS // max(width, 1))
    return ((start, min(start + step, count)) for start in range(0, count, step))


def interval(scores: Array) -> Interval:
    """The 95% interval of resampled scores ``(resamples,)``, by the order statistics of sacreBLEU.

    NaN where a resample has no score.
    """
    ordered = np.sort(scores)  # NaN last
    if np.isnan(ordered[-1]):
        return Interval(np.nan, np.nan)
    cut = len(ordered) // 40
    return Interval(float(ordered[cut]), float(ordered[len(ordered) - cut - 1]))


def mean_over_seeds(scores: Array, seed: Sequence[int]) -> Array:
    """Resample seeds above the sentences: ``(seeds, resamples) -> (resamples,)``.

    Every resample of the sentences is scored for as many seeds, drawn with replacement, and
    averaged. What the draw of seeds moves is stretched by √(n / (n - 1)), so that the variance of
    the mean is s²/n (Rao and Wu 1988, JASA 83:231). One seed tells nothing about others: its scores
    stay as they are.
    """
    seeds, resamples = scores.shape
    if seeds == 1:
        return scores[0]
    drawn = np.random.default_rng(seed).integers(seeds, size=(seeds, resamples))
    means = scores.mean(0)
    moved = scores[drawn, np.arange(resamples)].mean(0) - means
    return means + moved * np.sqrt(seeds / (seeds - 1))


def degrees_of_freedom(seed_scores: Sequence[Array], sentence_variance: float) -> float:
    """How well the variance of a sum of means over seeds is known, by Welch and Satterthwaite.

    Infinite where no system has several seeds, or these do not differ: sentences are many.

    Args:
        seed_scores: of each system, ``(seeds,)``.
        sentence_variance: of the sum over resampled sentences, the seeds given.
    """
    several = [scores for scores in seed_scores if len(scores) > 1]
    variances = [float(scores.var(ddof=1)) / len(scores) for scores in several]
    total = sum(variances) + sentence_variance
    loss = sum(
        variance**2 / (len(scores) - 1) for variance, scores in zip(variances, several, strict=True)
    )
    return total**2 / loss if loss else math.inf


def expansion(degrees: float) -> float:
    """What stretches resampled differences to an honest 95% interval: t/z of the 97.5% quantiles.

    Few seeds tell little of their own spread (Hesterberg 2015, The American Statistician 69:371,
    the expanded percentile interval).
    """
    return 1.0 if math.isinf(degrees) else float(stdtrit(degrees, UPPER) / ndtri(UPPER))


def student_p(deviations: Array, observed: float, degrees: float) -> float:
    """Two-sided p-value of a difference whose resamples deviate from it by ``deviations``.

    Student's t with the standard deviation of the bootstrap over seeds and sentences. Without t,
    two equal systems of two seeds each differ "at 5%" in up to 29% of tests. As small as a share
    of resamples can be, and no smaller.
    """
    spread = float(deviations.std())
    if not spread:
        return 1.0 if not observed else 1 / (len(deviations) + 1)
    return max(float(2 * stdtr(degrees, -abs(observed) / spread)), 1 / (len(deviations) + 1))


def bootstrap_p(differences: Array, observed: float) -> float:
    """Two-sided p-value of a difference from its resampled ones ``(resamples,)``.

    The share of resamples that lie as far from the observed difference as that lies from 0. (The
    test of Moses and sacreBLEU centres absolute differences instead, which calls 10% of equal
    systems different at 5%; see ``moses_p``.)
    """
    return _share(np.abs(differences - observed) >= abs(observed) - _rounding(observed))


def moses_p(differences: Array, observed: float) -> float:
    """The p-value of ``sacrebleu --paired-bs``, for comparison with published ones."""
    distances = np.abs(differences)
    return _share(distances - distances.mean() > abs(observed))


def randomised_differences(
    pairs: Sequence[tuple[int, int]],
    systems: Sequence[Array],
    score: Callable[[Array], Array],
    trials: Resamples,
) -> Array:
    """Differences of scores when sentences are exchanged at random, ``(pairs, trials)``.

    ``systems`` are the counts ``(sentences, columns)`` of each; ``pairs`` name two of them. In each
    trial every sentence's translations change sides with probability 1/2, the same sentences for
    all pairs (Riezler and Maxwell 2005).
    """
    sentences, columns = systems[0].shape
    generator = np.random.default_rng(trials.seed)
    stays = generator.integers(2, size=(trials.count, sentences), dtype=bool)
    counts = np.concatenate(systems, axis=1)
    differences = np.empty((len(pairs), trials.count))
    for start, stop in _chunks(trials.count, sentences):
        # Not the whole less what is kept: a rounding error instead of 0 matches is another BLEU.
        kept, left = (
            (chosen.astype(np.float64) @ counts).reshape(-1, len(systems), columns)
            for chosen in (stays[start:stop], ~stays[start:stop])
        )
        for row, (first, second) in enumerate(pairs):
            one, other = (
                score(kept[:, a] + left[:, b]) for a, b in ((first, second), (second, first))
            )
            differences[row, start:stop] = one - other
    return differences


def randomisation_p(differences: Array, observed: float) -> float:
    """Two-sided p-value of a difference from randomised ones ``(trials,)``."""
    return _share(np.abs(differences) >= abs(observed) - _rounding(observed))


def _rounding(value: float) -> float:
    """What sums in another order may differ by: exchanging nothing is no smaller difference."""
    return 1e-9 * max(1.0, abs(value))


def _share(as_large: NDArray[np.bool_]) -> float:
    """Never 0: what was observed is one of the possible draws (Phipson and Smyth 2010)."""
    return float((as_large.sum() + 1) / (len(as_large) + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values of a family of tests, in the order given."""
    order = np.argsort(p_values, kind="stable")
    tests = len(order)
    raised = np.asarray(p_values, np.float64)[order] * (tests - np.arange(tests))
    adjusted = np.empty(tests)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return [float(value) for value in adjusted]
