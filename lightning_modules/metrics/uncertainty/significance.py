"""Paired significance tests between systems, and their correction for many tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate, ScoredSubset
from lightning_modules.metrics.uncertainty.resampling import (
    Resamples,
    bootstrap_p,
    degrees_of_freedom,
    expansion,
    holm,
    interval,
    mean_over_seeds,
    moses_p,
    randomisation_p,
    randomised_differences,
    student_p,
)


@dataclass(frozen=True)
class Test:
    """Two systems compared on one subset of the test sentences."""

    __test__ = False  # pytest must not collect this class

    first: str
    second: str
    subset: str
    """Lengths of the sentences, or ``all``."""
    sentences: int
    difference: Estimate
    """Mean score of the first less the second, with the 95% interval over sentences and seeds."""
    p_bootstrap: float
    """p-value over sentences, and over several seeds: would other trainings differ?"""
    p_randomisation: float
    """p-value over sentences for fixed outputs: would the outputs differ on another test set?"""
    p_moses: float | None
    """p-value of ``sacrebleu --paired-bs``; None with several seeds or for a difference of 0."""


@dataclass(frozen=True)
class Corrected:
    """A test with p-values corrected for its whole family of tests (Holm 1979)."""

    test: Test
    p_bootstrap: float
    p_randomisation: float


def compare_pairs(
    systems: Sequence[System], subsets: Sequence[ScoredSubset], metric: Metric, resamples: Resamples
) -> list[Test]:
    """Test every pair of systems that translated one test set, on every subset that is not thin.

    Systems without counts for the metric are left out.
    """
    return [
        test
        for number, subset in enumerate(subsets)
        if not subset.thin
        for test in _tests(
            systems, subset, metric, Resamples(resamples.count, resamples.seed + number)
        )
    ]


def correct(tests: Sequence[Test]) -> list[Corrected]:
    """Correct a family of tests (all pairs of systems on all subsets), each method separately."""
    adjusted = zip(
        tests,
        holm([test.p_bootstrap for test in tests]),
        holm([test.p_randomisation for test in tests]),
        strict=True,
    )
    return [Corrected(*parts) for parts in adjusted]


def _tests(
    systems: Sequence[System], subset: ScoredSubset, metric: Metric, resamples: Resamples
) -> list[Test]:
    systems = [system for system in systems if (system.name, metric.name) in subset.scores]
    pairs = list(combinations(range(len(systems)), 2))
    if not pairs:
        return []
    names = [system.name for system in systems]
    scores = [subset.scores[name, metric.name] for name in names]
    resampled = [
        mean_over_seeds(subset.resampled[name, metric.name], [resamples.seed, number])
        for number, name in enumerate(names, start=1)  # [seed, 0] would repeat the draws of seed
    ]
    resampled_sentences = [subset.resampled[name, metric.name].mean(0) for name in names]
    counts = [_mean_counts(system, subset, metric) for system in systems]
    randomised = randomised_differences(pairs, counts, metric.score, resamples)
    scores_of_means = [float(metric.score(each.sum(0))) for each in counts]
    tests = []
    for (a, b), trials in zip(pairs, randomised, strict=True):
        observed = float(scores[a].mean() - scores[b].mean())
        differences = resampled[a] - resampled[b]
        sentence_variance = float((resampled_sentences[a] - resampled_sentences[b]).var())
        degrees = degrees_of_freedom([scores[a], scores[b]], sentence_variance)
        difference, p = bootstrapped(observed, differences, degrees)
        single = len(scores[a]) == len(scores[b]) == 1
        tests.append(
            Test(
                first=names[a],
                second=names[b],
                subset=subset.label,
                sentences=len(subset.index),
                difference=difference,
                p_bootstrap=p,
                p_randomisation=randomisation_p(trials, scores_of_means[a] - scores_of_means[b]),
                p_moses=moses_p(differences, observed) if single and observed else None,
            )
        )
    return tests


def bootstrapped(observed: float, differences: Array, degrees: float) -> tuple[Estimate, float]:
    """Return a difference with its interval, and its p-value."""
    deviations = differences - observed
    estimate = Estimate(observed, *interval(observed + expansion(degrees) * deviations))
    if math.isinf(degrees):
        return estimate, bootstrap_p(differences, observed)
    return estimate, student_p(deviations, observed, degrees)


def _mean_counts(system: System, subset: ScoredSubset, metric: Metric) -> Array:
    """Return the mean over seeds of each sentence's counts: ``(sentences, columns)``.

    The score of mean counts is the score of all seeds' outputs taken as one text.
    """
    counts = [output.statistics[metric.statistics][subset.index] for output in system.outputs]
    return np.mean(counts, axis=0)
