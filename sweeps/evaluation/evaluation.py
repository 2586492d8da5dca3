"""Systems scored side by side on everything that is asked of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lightning_modules.metrics.lengths import Bounds, Bucket
from lightning_modules.metrics.scopes import Estimate, Scope, scopes
from lightning_modules.metrics.statistics import METRICS, Metric
from lightning_modules.metrics.systems import System
from lightning_modules.settings import Scoring


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

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that at least one system has."""
        known = {metric for group in self.groups for _, metric in group.scopes[0].scores}
        return [metric for metric in METRICS.values() if metric.name in known]

    @property
    def bounds(self) -> list[Bounds]:
        """Every length bucket that a test set has, shortest first, the open one last."""
        found = {bucket.bounds for group in self.groups for bucket in group.buckets}
        return sorted(found, key=lambda bounds: (bounds.low, bounds.high or float("inf")))

    def group(self, system: System) -> Group:
        """The group of a system."""
        return next(group for group in self.groups if system in group.systems)

    def estimate(self, system: System, bounds: Bounds | None, metric: str) -> Estimate | None:
        """A system's score on a length bucket, or on the whole test set; None: not known."""
        found = [scope for scope in self.group(system).scopes if scope.bounds == bounds]
        return found[0].estimate(system.name, metric) if found else None

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
    groups = [
        Group(members, own, scopes(members, metrics, own, scoring.draws))
        for members, own in zip(together, buckets, strict=True)
    ]
    return Evaluation(list(systems), groups, scoring)


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
