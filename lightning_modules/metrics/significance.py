"""Which differences between systems are more than chance: paired tests and their correction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lightning_modules.metrics.resampling import (
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
from lightning_modules.metrics.scopes import Estimate, Scope
from lightning_modules.metrics.statistics import METRICS, Array
from lightning_modules.metrics.systems import System


@dataclass(frozen=True)
class Test:
    """Two systems compared on one set of sentences."""

    __test__ = False  # no test case of pytest's

    first: str
    second: str
    scope: str
    """Lengths of the sentences, or ``all``."""
    sentences: int
    difference: Estimate
    """First less second, the means over seeds, with the 95% interval over sentences and seeds."""
    p_bootstrap: float
    """Over sentences, and over seeds where there are several: would other trainings differ?"""
    p_randomisation: float
    """Over sentences, these outputs given: would another test set tell them apart?"""
    p_moses: float | None
    """Of ``sacrebleu --paired-bs``, to compare; None with several seeds or without difference."""


@dataclass(frozen=True)
class Corrected:
    """A test with the p-values that hold for its whole family (Holm 1979)."""

    test: Test
    p_bootstrap: float
    p_randomisation: float


def compare_pairs(
    systems: Sequence[System], scopes: Sequence[Scope], metric: str, resamples: Resamples
) -> list[Test]:
    """Test every pair of systems that translated one test set, on every scope that is not thin.

    Systems without counts for the metric are left out.
    """
    return [
        test
        for number, scope in enumerate(scopes)
        if not scope.thin
        for test in _tests(
            systems, scope, metric, Resamples(resamples.count, resamples.seed + number)
        )
    ]


def correct(tests: Sequence[Test]) -> list[Corrected]:
    """Correct a family: all pairs of systems on all sets of sentences, for each method apart."""
    adjusted = zip(
        tests,
        holm([test.p_bootstrap for test in tests]),
        holm([test.p_randomisation for test in tests]),
        strict=True,
    )
    return [Corrected(*parts) for parts in adjusted]


def _tests(
    systems: Sequence[System], scope: Scope, metric: str, resamples: Resamples
) -> list[Test]:
    systems = [system for system in systems if (system.name, metric) in scope.scores]
    pairs = list(combinations(range(len(systems)), 2))
    if not pairs:
        return []
    names = [system.name for system in systems]
    scores = [scope.scores[name, metric] for name in names]
    resampled = [
        mean_over_seeds(scope.resampled[name, metric], [resamples.seed, number])
        for number, name in enumerate(names, start=1)  # [seed, 0] would draw what seed does
    ]
    sentences = [scope.resampled[name, metric].mean(0) for name in names]  # these seeds given
    counts = [_mean_counts(system, scope, metric) for system in systems]
    score = METRICS[metric].score
    exchanged = randomised_differences(pairs, counts, score, resamples)
    of_means = [float(score(part.sum(0))) for part in counts]
    tests = []
    for (a, b), trials in zip(pairs, exchanged, strict=True):
        observed = float(scores[a].mean() - scores[b].mean())
        differences = resampled[a] - resampled[b]
        spread = float((sentences[a] - sentences[b]).var())
        degrees = degrees_of_freedom([scores[a], scores[b]], spread)
        difference, p = _bootstrapped(observed, differences, degrees)
        single = len(scores[a]) == len(scores[b]) == 1
        tests.append(
            Test(
                first=names[a],
                second=names[b],
                scope=scope.label,
                sentences=len(scope.index),
                difference=difference,
                p_bootstrap=p,
                p_randomisation=randomisation_p(trials, of_means[a] - of_means[b]),
                p_moses=moses_p(differences, observed) if single and observed else None,
            )
        )
    return tests


def _bootstrapped(observed: float, differences: Array, degrees: float) -> tuple[Estimate, float]:
    """A difference with its interval, and its p-value."""
    deviations = differences - observed
    estimate = Estimate(observed, *interval(observed + expansion(degrees) * deviations))
    if math.isinf(degrees):
        return estimate, bootstrap_p(differences, observed)
    return estimate, student_p(deviations, observed, degrees)


def _mean_counts(system: System, scope: Scope, metric: str) -> Array:
    """Counts of each sentence, the mean over seeds: ``(sentences, columns)``.

    Their score is that of all seeds' outputs taken as one text, whatever the number of seeds.
    """
    name = METRICS[metric].counts
    return np.mean([output.statistics[name][scope.index] for output in system.outputs], axis=0)
