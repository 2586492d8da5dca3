"""Paired tests between systems: on each length bucket, and of how their ratio changes with length.

p-values are corrected by Holm (1979) within these families, each method apart: the tests of one
metric between all pairs of systems on all subsets of all test sets (``correct_by_holm``; the caller
gathers them); the slopes of one metric between all pairs of systems on one test set
(``compare_trends``).
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics import resampling
from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset, further_scores
from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.resampling import CELLS, Resamples, SequentialTests, holm
from lightning_modules.metrics.systems import System


@dataclass(frozen=True)
class PairTest:
    """Two systems compared on one subset of the test sentences."""

    first: str
    second: str
    subset: str  # lengths of the sentences, or `all`
    sentences: int
    difference: Estimate
    """Mean score of the first minus that of the second; 95% interval over sentences and seeds."""
    p_bootstrap: float
    """p-value over sentences, and over several seeds: would other trainings differ?"""
    p_randomisation: float
    """p-value over sentences for fixed outputs: would the outputs differ on another test set?"""
    p_moses: float | None
    """p-value of ``sacrebleu --paired-bs``; None with several seeds or for a difference of 0."""
    p_bootstrap_holm: float = math.nan  # `p_bootstrap` after `correct`
    p_randomisation_holm: float = math.nan


def compare_pairs(
    systems: Sequence[System], subsets: Sequence[ScoredSubset], metric: Metric, resamples: Resamples
) -> list[PairTest]:
    """Test every pair of systems that translated one test set, on every subset that is not thin.

    A test has the draws of its subset, and up to ``resamples`` where so many sharpen its p-value;
    ``SequentialTests`` says when. Systems without counts for the metric are left out.
    """
    tests: list[PairTest] = []
    for number, subset in enumerate(subsets):
        if subset.thin:
            continue
        if number and subset.scores is subsets[0].scores:  # the whole test set in one bucket
            whole = [test for test in tests if test.subset == subsets[0].label]
            tests += [replace(test, subset=subset.label) for test in whole]
        else:
            draws = Resamples(resamples.count, resamples.seed + number)
            tests += _tests(systems, subset, metric, draws)
    return tests


def correct_by_holm(tests: Sequence[PairTest]) -> list[PairTest]:
    """Return a family of tests (all pairs of systems on all subsets) with corrected p-values."""
    bootstrap = holm([test.p_bootstrap for test in tests])
    randomisation = holm([test.p_randomisation for test in tests])
    return [
        replace(test, p_bootstrap_holm=p, p_randomisation_holm=other)
        for test, p, other in zip(tests, bootstrap, randomisation, strict=True)
    ]


def _tests(
    systems: Sequence[System], subset: ScoredSubset, metric: Metric, resamples: Resamples
) -> list[PairTest]:
    systems = [system for system in systems if (system.name, metric.name) in subset.scores]
    if len(systems) < 2:
        return []
    keys = [(system.name, metric.name) for system in systems]
    scores, resampled = ([each[key] for key in keys] for each in (subset.scores, subset.resampled))
    further = further_scores(systems, metric, subset, resamples.count, len(subset.index))
    compared = _differences(scores, resampled, further, resamples)
    p_randomisation = resampling.randomisation_p_values(
        np.array([(each.first, each.second) for each in compared]),
        [_mean_counts(system, subset, metric) for system in systems],
        metric.score,
        Resamples(subset.draws.count, resamples.seed),
        resamples.count,
    )
    return [
        PairTest(
            first=systems[each.first].name,
            second=systems[each.second].name,
            subset=subset.label,
            sentences=len(subset.index),
            difference=each.difference,
            p_bootstrap=each.p,
            p_randomisation=float(p),
            p_moses=each.p_moses,
        )
        for each, p in zip(compared, p_randomisation, strict=True)
    ]


class PairDifference(NamedTuple):
    """The difference of two systems, given by their positions, and its bootstrap."""

    first: int
    second: int
    difference: Estimate
    p: float
    p_moses: float | None


def _differences(
    scores: Sequence[Array],
    resampled: Sequence[Array],
    further: Iterator[list[Array]],
    resamples: Resamples,
) -> list[PairDifference]:
    """Compare every pair of systems.

    Each system has scores ``(seeds,)`` and resampled scores ``(seeds, draws)``; ``further`` yields
    those of more draws, up to ``resamples`` in all, for p-values that are shares of draws.
    """
    pairs = np.array(list(combinations(range(len(scores)), 2)))
    means = _means_over_seeds(resampled, resamples.seed)
    observed = np.array([float(scores[a].mean() - scores[b].mean()) for a, b in pairs])
    tests = SequentialTests(observed, resampled[0].shape[1], resamples.count)
    by_student: dict[int, float] = {}
    ends, moses = [], []
    for row, (a, b) in enumerate(pairs):
        differences = means[a] - means[b]
        deviations = differences - observed[row]
        sentence_variance = float((resampled[a].mean(0) - resampled[b].mean(0)).var())
        degrees = resampling.degrees_of_freedom([scores[a], scores[b]], sentence_variance)
        ends.append(resampling.interval(observed[row] + resampling.expansion(degrees) * deviations))
        if not math.isinf(degrees):
            by_student[row] = resampling.student_p(
                deviations, observed[row], degrees, resamples.count
            )
        single = len(scores[a]) == len(scores[b]) == 1 and observed[row]
        moses.append(resampling.moses_p(differences, observed[row]) if single else None)
        tests.add(np.array([row]), deviations[None])
    _draw_further(tests, pairs, observed, further, resamples.seed, by_student)
    return [
        PairDifference(
            int(a), int(b), Estimate(float(value), *end), by_student.get(row, float(p)), of_moses
        )
        for row, ((a, b), value, end, p, of_moses) in enumerate(
            zip(pairs, observed, ends, tests.p_values, moses, strict=True)
        )
    ]


def _draw_further(
    tests: SequentialTests,
    pairs: NDArray[np.int64],
    observed: Array,
    further: Iterator[list[Array]],
    seed: int,
    known: Collection[int],
) -> None:
    """Draw further for the tests that need more draws, but for those in ``known``."""
    part = 0
    while len(rows := np.setdiff1d(tests.unsettled, list(known))):
        part += 1
        means = np.stack(_means_over_seeds(next(further), seed, part))
        for chosen in np.array_split(rows, math.ceil(len(rows) * means.shape[1] / CELLS)):
            firsts, seconds = pairs[chosen].T
            tests.add(chosen, means[firsts] - means[seconds] - observed[chosen, None])


def _means_over_seeds(resampled: Sequence[Array], seed: int, part: int = 0) -> list[Array]:
    """Return the mean over drawn seeds of each system; each part has draws of its own."""
    # From 1: [seed, 0] would repeat the draws of seed.
    return [
        resampling.mean_over_seeds(each, [seed, number, part] if part else [seed, number])
        for number, each in enumerate(resampled, start=1)
    ]


def _mean_counts(system: System, subset: ScoredSubset, metric: Metric) -> Array:
    """Return the mean over seeds of each sentence's counts: ``(sentences, columns)``.

    The score of mean counts is the score of all seeds' outputs taken as one text.
    """
    counts = [output.statistics[metric.statistics][subset.index] for output in system.outputs]
    return np.mean(counts, axis=0)


LEAST_SCORE = 0.1  # a lower score counts as this much: its logarithm would be noise


@dataclass(frozen=True)
class Trend:
    """The ratio of two systems' scores against length."""

    first: str
    second: str
    slope: Estimate
    """Rise of the logarithm of the first's score divided by the second's, for every ten words, with
    the 95% interval over sentences and seeds."""
    p_holm: float  # p-value of the paired bootstrap, corrected


def compare_trends(
    systems: Sequence[System],
    buckets: Sequence[Bucket],
    subsets: Sequence[ScoredSubset],
    metric: Metric,
    resamples: Resamples,
) -> list[Trend]:
    """Test whether the ratio of two systems' scores changes with length, for every pair.

    Logarithms are compared: a system that is near 0 everywhere has no points to lose, but may lose
    as large a share as any other. ``subsets`` are those of ``buckets``; thin ones are left out. The
    slope is that of the least-squares line through the buckets (``slope_per_ten``). Nothing with
    fewer than two buckets.
    """
    used = [pair for pair in zip(buckets, subsets, strict=True) if not pair[0].thin]
    if len(used) < 2:
        return []
    known = [
        system
        for system in systems
        if all((system.name, metric.name) in subset.scores for _, subset in used)
    ]
    if len(known) < 2:
        return []
    lengths = [bucket for bucket, _ in used]

    def slopes(of_buckets: Iterable[Sequence[Array]]) -> list[Array]:
        """Return the slopes of each system's log score, from its scores in each bucket."""
        by_system = (np.maximum(each, LEAST_SCORE) for each in zip(*of_buckets, strict=True))
        return [slope_per_ten(lengths, np.log(each)) for each in by_system]

    observed, resampled = (
        slopes([[of[system.name, metric.name] for system in known] for of in of_buckets])
        for of_buckets in zip(*((each.scores, each.resampled) for _, each in used), strict=True)
    )
    most, width = resamples.count, max(len(subset.index) for _, subset in used)
    further = [further_scores(known, metric, subset, most, width) for _, subset in used]
    compared = _differences(observed, resampled, map(slopes, zip(*further, strict=True)), resamples)
    adjusted = holm([each.p for each in compared])
    return [
        Trend(known[each.first].name, known[each.second].name, each.difference, p)
        for each, p in zip(compared, adjusted, strict=True)
    ]
