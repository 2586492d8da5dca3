"""Systems scored side by side on everything that is asked of them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lightning_modules.metrics.lengths import Bounds, Bucket
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.scopes import Estimate, Scope, scopes
from lightning_modules.metrics.statistics import METRICS, Metric
from lightning_modules.metrics.systems import System
from lightning_modules.settings import Scoring

RESAMPLES_FOR_A_TEST = 40
"""Twice what it takes at 5%."""


@dataclass(frozen=True, eq=False)
class Group:
    """Systems that translated one test set, and can be compared sentence by sentence."""

    systems: list[System]
    buckets: list[Bucket]
    scopes: list[Scope]
    """The whole test set, then the buckets."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All systems, in the order given."""

    systems: list[System]
    groups: list[Group]
    scoring: Scoring
    draws: Resamples
    """At least ``scoring.resamples``; more where many tests are corrected."""

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that at least one system has."""
        known = {metric for group in self.groups for _, metric in group.scopes[0].scores}
        return [metric for metric in METRICS.values() if metric.name in known]

    @property
    def bounds(self) -> list[Bounds]:
        """Every length bucket with sentences, shortest first, the open one last."""
        buckets = [bucket for group in self.groups for bucket in group.buckets]
        found = {bucket.bounds for bucket in buckets if len(bucket.index)}
        return sorted(found, key=lambda bounds: (bounds.low, bounds.high or float("inf")))

    def group(self, system: System) -> Group:
        """The group of a system."""
        return next(group for group in self.groups if system in group.systems)

    def named_groups(self, name: str) -> Iterator[tuple[Group, str]]:
        """Test sets with several systems, each with a name for its table."""
        for place, group in enumerate(self.groups, start=1):
            if len(group.systems) > 1:
                yield group, name if place == 1 else f"{name}_{place}"

    def estimate(self, system: System, bounds: Bounds | None, metric: str) -> Estimate | None:
        """A system's score on a length bucket, or on the whole test set; None: not known."""
        found = [scope for scope in self.group(system).scopes if scope.bounds == bounds]
        return found[0].estimate(system.name, metric) if found else None

    def mean_length(self, bounds: Bounds) -> float:
        """Of all test sentences in a bucket."""
        buckets = [
            bucket
            for group in self.groups
            for bucket in group.buckets
            if bucket.bounds == bounds and bucket.mean_length is not None
        ]
        words = sum(len(bucket.index) * (bucket.mean_length or 0) for bucket in buckets)
        return words / sum(len(bucket.index) for bucket in buckets)

    def sentences(self, bounds: Bounds | None) -> list[int]:
        """How many sentences the test sets have there, each different number once."""
        counts = {
            len(scope.index)
            for group in self.groups
            for scope in group.scopes
            if scope.bounds == bounds
        }
        return sorted(counts)


def evaluate(systems: Sequence[System], scoring: Scoring) -> Evaluation:
    """Score systems, whatever test sets they translated.

    Raises ``ValueError`` if source lengths are asked for and there are no sources.
    """
    together = list(_by_test_set(systems))
    buckets = scoring.buckets([group[0].test for group in together])
    metrics = list(METRICS.values())
    draws = _enough(scoring.draws, together, buckets)
    groups = [
        Group(members, own, scopes(members, metrics, own, draws))
        for members, own in zip(together, buckets, strict=True)
    ]
    return Evaluation(list(systems), groups, scoring, draws)


def _enough(
    draws: Resamples, groups: Sequence[Sequence[System]], buckets: Sequence[Sequence[Bucket]]
) -> Resamples:
    """Draw so often that a test can be significant after correction for all of a table.

    No p-value is below 1 / (resamples + 1), and Holm multiplies the smallest by the tests.
    """
    tests = sum(
        math.comb(len(systems), 2) * (1 + sum(not bucket.thin for bucket in own))
        for systems, own in zip(groups, buckets, strict=True)
    )
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
