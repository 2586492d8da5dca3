"""Resampled sentences and seeds: bootstrap intervals, paired tests and their correction.

Draws equal sacreBLEU's for the same seed, so that intervals and p-values can be compared with it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from lightning_modules.metrics.metric import Array

CELLS = 1 << 21  # counts or choices held in memory at a time: 16 MiB
CELLS_OF_SCORES = 1 << 17  # counts that become scores at a time: 1 MiB, for a processor's cache
DRAWN_TOGETHER = 32  # NumPy takes 32 random bits at a time: chunks of as many rows waste none
UPPER = 0.975  # upper end of the middle 95%, as a probability
ENOUGH = 100
"""Draws as far as the observed difference after which the p-value is known to about 10%."""
BEYOND, TO_SEE_IT = 5.5, 1000
"""Standard deviations beyond which no draw is expected, and draws that show so. An exchange of
sentences is beyond with a probability of at most 2 exp(-15), which is 6e-7 (Hoeffding 1963, JASA
58:13); by the normal distribution 4e-8."""
EXACT = 1 << 24  # whole numbers up to here are exact in single precision


class Interval(NamedTuple):
    """The middle 95% of resampled scores."""

    low: float
    high: float


@dataclass(frozen=True)
class Resamples:
    """Number of resamples, and the seed of their draws."""

    count: int
    seed: int


def for_sums(counts: Array) -> NDArray[np.floating]:
    """Return ``counts`` in single precision if sums over as many sentences are exact: faster."""
    whole = (counts == np.rint(counts)).all()
    exact = whole and len(counts) * np.abs(counts).max(initial=0) < EXACT
    return counts.astype(np.float32) if exact else counts


def resampled_sums(statistics: Array, resamples: Resamples) -> Array:
    """Sum over sentences drawn with replacement: ``(sentences, k) -> (resamples, k)``."""
    sums = np.empty((resamples.count, statistics.shape[1]))
    summed = for_sums(statistics)
    for chosen, counts in resampled_counts(len(statistics), resamples):
        sums[chosen] = counts @ summed
    return sums


def resampled_counts(
    sentences: int, resamples: Resamples, first: int = 0, width: int = 1
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield how often resamples have each sentence, ``(some resamples, sentences)``.

    The slice tells which resamples: those from number ``first`` on, so many at a time that
    ``width`` columns for each fit into memory too.
    """
    generator = np.random.default_rng(resamples.seed)
    for start, stop in _chunks(0, first, sentences):
        generator.choice(sentences, size=(stop - start, sentences), replace=True)
    for start, stop in _chunks(first, resamples.count, max(sentences, width)):
        drawn = generator.choice(sentences, size=(stop - start, sentences), replace=True)
        drawn += sentences * np.arange(stop - start)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        yield slice(start, stop), times.astype(np.float32)


def _chunks(first: int, count: int, width: int) -> Iterator[tuple[int, int]]:
    step = max(CELLS // max(width, 1) // DRAWN_TOGETHER, 1) * DRAWN_TOGETHER
    return ((start, min(start + step, count)) for start in range(first, count, step))


def interval(scores: Array) -> Interval:
    """Return the 95% interval of resampled scores ``(resamples,)`` by sacreBLEU's order statistics.

    Both ends are NaN if a resampled score is NaN.
    """
    if np.isnan(scores).any():
        return Interval(np.nan, np.nan)
    cut = len(scores) // 40
    ends = cut, len(scores) - cut - 1
    ordered = np.partition(scores, ends)
    return Interval(*(float(ordered[end]) for end in ends))


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


def student_p(deviations: Array, observed: float, degrees: float, most: int) -> float:
    """Return the two-sided p-value of the difference ``observed``, by Student's t.

    ``deviations`` are the resampled differences less ``observed``; their standard deviation is the
    bootstrap's over seeds and sentences. Without t, two equal systems of two seeds each differ "at
    5%" in up to 29% of tests. The p-value is at least 1 / (``most`` + 1), as is a share of ``most``
    resamples.
    """
    spread = float(deviations.std())
    if not spread:
        return 1.0 if not observed else 1 / (most + 1)
    return max(float(2 * stdtr(degrees, -abs(observed) / spread)), 1 / (most + 1))


def moses_p(differences: Array, observed: float) -> float:
    """Return the p-value of ``sacrebleu --paired-bs``, to compare with published p-values."""
    distances = np.abs(differences)
    return _share(distances - distances.mean() > abs(observed))


class SequentialTests:
    """Two-sided p-values of many observed differences, each from as many draws as it needs.

    A p-value is the share of draws that are at least as far from 0 as the observed difference. All
    tests share ``first`` draws; then each is drawn further, up to ``most`` draws, until ``ENOUGH``
    draws are as far (Besag and Clifford 1991, Biometrika 78:301), or until it is clear that none
    will be: then the p-value is that of ``most`` draws without one.
    """

    def __init__(self, observed: Array, first: int, most: int) -> None:
        self._observed = np.abs(observed)
        # Sums in another order differ in the last digit: exchanging nothing is a tie.
        self._bounds = self._observed - 1e-9 * np.maximum(1.0, self._observed)
        self._first, self._most = first, most
        self._draws, self._as_far = (np.zeros(len(observed), np.int64) for _ in range(2))
        self._squares = np.zeros(len(observed))

    def add(self, tests: NDArray[np.int64], draws: Array) -> None:
        """Count draws ``(tests, some draws)`` for the tests of these numbers."""
        self._draws[tests] += draws.shape[1]
        self._as_far[tests] += (np.abs(draws) >= self._bounds[tests, None]).sum(1)
        self._squares[tests] += np.einsum("td,td->t", draws, draws)

    @property
    def unsettled(self) -> NDArray[np.int64]:
        """The numbers of the tests that need more draws."""
        enough = (self._as_far >= ENOUGH) & (self._draws >= self._first)
        return np.flatnonzero(~(enough | self._beyond | (self._draws >= self._most)))

    @property
    def _beyond(self) -> NDArray[np.bool_]:
        deviations = np.sqrt(self._squares / np.maximum(self._draws, 1))
        far = (self._as_far == 0) & (self._observed > BEYOND * deviations)
        return far & (self._draws >= min(TO_SEE_IT, self._most))

    @property
    def p_values(self) -> Array:
        """The p-values; the observed value counts as a draw: never 0 (Phipson and Smyth 2010)."""
        draws = np.where(self._beyond, self._most, self._draws)
        return np.asarray((self._as_far + 1) / (draws + 1))


def randomisation_p_values(
    pairs: NDArray[np.int64],
    systems: Sequence[Array],
    score: Callable[[Array], Array],
    trials: Resamples,
    most: int,
) -> Array:
    """Return the p-values of approximate randomisation for ``pairs``, positions in ``systems``.

    ``systems`` are the counts ``(sentences, columns)`` of each system. In each trial, the two
    translations of a sentence are exchanged with probability 1/2, for the same sentences in all
    pairs (Riezler and Maxwell 2005). Each pair has ``trials`` at least, and up to ``most``.
    """
    scores = np.array([score(counts.sum(0)) for counts in systems])
    tests = SequentialTests(scores[pairs[:, 0]] - scores[pairs[:, 1]], trials.count, most)
    columns = systems[0].shape[1]
    for kept, exchanged in _exchanges(systems, trials, most):
        unsettled = tests.unsettled
        if not len(unsettled):
            break
        step = max(1, CELLS_OF_SCORES // (columns * kept.shape[2]))
        for start in range(0, len(unsettled), step):
            numbers = unsettled[start : start + step]
            firsts, seconds = pairs[numbers].T
            one, other = kept[firsts], kept[seconds]
            one += exchanged[seconds]
            other += exchanged[firsts]
            tests.add(numbers, score(np.moveaxis(one, 1, 2)) - score(np.moveaxis(other, 1, 2)))
    return tests.p_values


def _exchanges(
    systems: Sequence[Array], trials: Resamples, most: int
) -> Iterator[tuple[Array, Array]]:
    """Yield sums over the sentences that stay and over those exchanged in some trials.

    Both are ``(systems, columns, some trials)``: the scores of many trials are computed at once.
    """
    joined = np.concatenate(systems, axis=1)
    counts = for_sums(joined).T.copy()
    shape = len(systems), systems[0].shape[1], -1
    sentences = counts.shape[1]
    generator = np.random.default_rng(trials.seed)
    width = max(sentences, len(counts))
    whole = joined.sum(0)[:, None] if (joined == np.rint(joined)).all() else None
    for start, stop in chain(_chunks(0, trials.count, width), _chunks(trials.count, most, width)):
        stays = generator.integers(2, size=(stop - start, sentences), dtype=bool).T
        kept = (counts @ stays.astype(counts.dtype)).astype(np.float64)
        # Of means over seeds, the whole less the kept part may be a rounding error instead of 0
        # matches, which changes BLEU.
        others = joined.T @ (~stays).astype(np.float64) if whole is None else whole - kept
        yield kept.reshape(shape), others.reshape(shape)


def _share(as_large: NDArray[np.bool_]) -> float:
    """Count the observed value as one of the draws: never 0 (Phipson and Smyth 2010)."""
    return float((as_large.sum() + 1) / (len(as_large) + 1))


def probability_above(differences: Array) -> float:
    """Return the probability that a difference is above 0, one of 0 counting by half.

    Of the differences between each training of a system and each of another, this is the
    probability of improvement (Agarwal et al. 2021, NeurIPS, section 4.4).
    """
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's (1979) adjusted p-values of a family of tests, in the given order."""
    order = np.argsort(p_values, kind="stable")
    tests = len(order)
    raised = np.asarray(p_values, np.float64)[order] * (tests - np.arange(tests))
    adjusted = np.empty(tests)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return [float(value) for value in adjusted]
