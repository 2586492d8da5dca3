"""Systems scored on whole test sets, on length buckets, and on named test sets; baselines."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset, score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS, check_counts, in_order
from lightning_modules.metrics.lengths import Bounds, Bucket
from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu
from lightning_modules.testing.scoring import Scoring, baseline

RESAMPLES_FOR_A_TEST = 40
"""Resamples for each corrected test: twice the minimum for significance at 5%."""


@dataclass(frozen=True, eq=False)
class EvalGroup:
    """Systems that translated one test set, and can be compared sentence by sentence."""

    systems: list[System]
    buckets: list[Bucket]
    subsets: list[ScoredSubset]  # the whole test set, then the buckets
    baselines: list[System]  # translations without a model, scored in `subsets` but not tested


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of all systems, in the given order of the systems."""

    systems: list[System]
    groups: list[EvalGroup]
    scoring: Scoring
    test_draws: Resamples
    """Draws of a test: more than those of the scores where many tests are corrected."""
    metrics: list[Metric]  # the metrics that at least one system has, in the order of the tables

    @property
    def draws(self) -> Resamples:
        """Draws of the scores' intervals."""
        return self.scoring.draws

    @property
    def bounds(self) -> list[Bounds]:
        """Every length bucket with sentences, shortest first, the open one last."""
        buckets = [bucket for group in self.groups for bucket in group.buckets]
        used = {bucket.bounds for bucket in buckets if len(bucket.index)}
        return sorted(used, key=lambda bounds: (bounds.low, bounds.high or float("inf")))

    @property
    def length_axis(self) -> str:
        """Axis title of lengths."""
        return self.scoring.length_axis(test.rules for test in self.tests)

    @property
    def tests(self) -> list[EvalSet]:
        """The test set of each group."""
        return [group.systems[0].test for group in self.groups]

    def signature(self, metric: Metric) -> str:
        """Return the signature of a metric, of each test set where they differ."""
        return " / ".join(dict.fromkeys(map(metric.signature_on, self.tests)))

    @property
    def labels(self) -> dict[str, str]:
        """The labels of systems and baselines by name."""
        return {each.name: each.label for each in (*self.systems, *self.baselines)}

    @property
    def baselines(self) -> list[System]:
        """Baselines of all test sets; no system of the comparison, and without seeds."""
        return [baseline for group in self.groups for baseline in group.baselines]

    def group(self, system: System) -> EvalGroup:
        """Return the group of a system or baseline."""
        return next(group for group in self.groups if system in (*group.systems, *group.baselines))

    @property
    def parts(self) -> list["Evaluation"]:
        """The evaluation of each test set alone, if several systems translated each; else self."""
        if any(len(group.systems) < 2 for group in self.groups):
            return [self]
        return [replace(self, systems=group.systems, groups=[group]) for group in self.groups]

    def estimate(self, system: System, bounds: Bounds | None, metric: str) -> Estimate | None:
        """Return the score of a system or baseline on a bucket (None: all sentences), if known."""
        subsets = [subset for subset in self.group(system).subsets if subset.bounds == bounds]
        return subsets[0].estimate(system.name, metric) if subsets else None

    def mean(self, system: System, bounds: Bounds | None, metric: str) -> float | None:
        """Return the value of ``estimate`` alone."""
        estimate = self.estimate(system, bounds, metric)
        return None if estimate is None else estimate.value

    def mean_length(self, bounds: Bounds) -> float:
        """Return the mean length of all test sentences in a bucket."""
        buckets = [
            bucket
            for group in self.groups
            for bucket in group.buckets
            if bucket.bounds == bounds and bucket.mean_length is not None
        ]
        words = sum(len(bucket.index) * (bucket.mean_length or 0) for bucket in buckets)
        return words / sum(len(bucket.index) for bucket in buckets)

    def sentences(self, bounds: Bounds | None) -> list[int]:
        """Return the number of sentences that each test set has in a bucket, without repeats."""
        counts = {
            len(subset.index)
            for group in self.groups
            for subset in group.subsets
            if subset.bounds == bounds
        }
        return sorted(counts)


def evaluate(systems: Sequence[System], scoring: Scoring) -> Evaluation:
    """Score systems, on one test set or on several.

    Raises ``ValueError`` if source lengths are asked for and there are no sources, and
    ``UserError`` for a user's metric that does not fit the statistics.
    """
    systems_by_test = list(_by_test_set(systems))
    buckets_by_test = scoring.buckets([members[0].test for members in systems_by_test])
    metrics = _metrics(systems)
    tests = sum(
        math.comb(len(members), 2) * (1 + sum(not bucket.thin for bucket in buckets))
        for members, buckets in zip(systems_by_test, buckets_by_test, strict=True)
    )
    draws = scoring.draws
    baselines_by_test = _baselines(systems_by_test, metrics)
    groups = [
        EvalGroup(members, buckets, score_subsets([*members, *more], metrics, buckets, draws), more)
        for members, buckets, more in zip(
            systems_by_test, buckets_by_test, baselines_by_test, strict=True
        )
    ]
    scored = {name for group in groups for _, name in group.subsets[0].scores}
    known = [metric for metric in metrics if metric.name in scored]
    return Evaluation(list(systems), groups, scoring, enough_draws(draws, tests), known)


def _metrics(systems: Iterable[System]) -> list[Metric]:
    """Return the metrics of all outputs, after a check of the user's own."""
    outputs = [output for system in systems for output in system.outputs]
    metrics = in_order(metric for output in outputs for metric in output.metrics)
    for metric in metrics:
        name = metric.statistics
        if metric.name not in METRICS:
            check_counts(metric, [o.statistics[name] for o in outputs if name in o.statistics])
    return metrics


def enough_draws(draws: Resamples, tests: int) -> Resamples:
    """Return the most draws of a test that has to be significant after the correction of ``tests``.

    No p-value is below 1 / (resamples + 1), and Holm multiplies the smallest by the tests.
    """
    return replace(draws, count=max(draws.count, RESAMPLES_FOR_A_TEST * tests))


def _by_test_set(systems: Iterable[System]) -> Iterable[list[System]]:
    groups: list[list[System]] = []
    for system in systems:
        for group in groups:
            if group[0].test.same_text(system.test):
                group.append(system)
                break
        else:
            groups.append([system])
    return groups


def _baselines(
    systems_by_test: Sequence[Sequence[System]], metrics: Sequence[Metric]
) -> list[list[System]]:
    """Return the baselines of each test set; none where no system's training text is known.

    Systems trained on other text have other baselines. Where there are several of a kind, the name
    of each says whose it is.
    """
    owners_by_test = []
    for systems in systems_by_test:
        # The first system with each baseline, by its kind and its translations.
        owners: dict[tuple[str, tuple[str, ...]], System] = {}
        for system in systems:
            for output in system.outputs:
                for kind, lines in output.baselines.items():
                    owners.setdefault((kind, tuple(lines)), system)
        owners_by_test.append(owners)
    counts = Counter(kind for owners in owners_by_test for kind, _ in owners)
    taken = {system.name for systems in systems_by_test for system in systems}

    def named(kind: str, owner: System, lines: Sequence[str]) -> System:
        wanted = f"{kind} of {owner.name}" if counts[kind] > 1 else kind
        names = chain([wanted], (f"{wanted} #{number}" for number in count(2)))
        name = next(each for each in names if each not in taken)
        taken.add(name)
        label = f"{kind} of {owner.label}" if counts[kind] > 1 else name
        return baseline(name, owner.test, lines, metrics, label)

    return [
        [named(kind, owner, lines) for (kind, lines), owner in owners.items()]
        for owners in owners_by_test
    ]


def evaluate_further(
    evaluation: Evaluation,
    metrics: Sequence[Metric],
    count: Callable[[System, Output], Array | None],
) -> Evaluation:
    """Score the outputs of an evaluation by other metrics, which share their statistics.

    ``count`` returns the statistics of an output ``(sentences, columns)``; None where there are
    none, and then the system has no scores. Resamples are those of the evaluation, without
    baselines.
    """
    [name] = {metric.statistics for metric in metrics}
    groups = []
    for group in evaluation.groups:
        counted = []
        for system in group.systems:
            counts = [(output, count(system, output)) for output in system.outputs]
            outputs = [
                replace(output, statistics={} if each is None else {name: each})
                for output, each in counts
            ]
            counted.append(replace(system, outputs=outputs))
        subsets = score_subsets(counted, metrics, group.buckets, evaluation.draws)
        groups.append(replace(group, subsets=subsets, baselines=[]))
    return replace(evaluation, groups=groups, metrics=list(metrics))


def evaluate_sets(systems: Sequence[System], scoring: Scoring) -> dict[str, Evaluation]:
    """Return the evaluation of BLEU on each named test set, baselines included, by its name.

    Nothing for systems whose test sets have no parts. Lengths are cut as on whole test sets.
    """
    names = dict.fromkeys(name for system in systems for name in system.test.named_sets)
    return {
        name: evaluate(
            [
                _restrict(system, system.test.named_sets[name])
                for system in systems
                if name in system.test.named_sets
            ],
            scoring,
        )
        for name in names
    }


def _restrict(system: System, index: NDArray[np.int64]) -> System:
    """Return a system on the sentences ``index`` of its test set, with the counts of BLEU alone."""
    test, bleu = system.test, Bleu()
    outputs = [
        Output(
            seed=output.seed,
            hypotheses=_lines_of(output.hypotheses, index),
            statistics={bleu.statistics: output.statistics[bleu.statistics][index]},
            metrics=[bleu],
            baselines={n: _lines_of(lines, index) for n, lines in output.baselines.items()},
        )
        for output in system.outputs
    ]
    return System(system.name, test.part(index), outputs, system.label)


def _lines_of(lines: Sequence[str], index: NDArray[np.int64]) -> list[str]:
    return [lines[number] for number in index]
