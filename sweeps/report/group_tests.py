"""Differences between systems on one test set, and what tests say of them."""

from dataclasses import dataclass, replace
from functools import cached_property

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.pair_tests import PairTest, Trend, compare_trends
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import format_estimate, p_statement
from sweeps.comparison.significance_tables import SIGNIFICANT, SignificanceTests, leads

BLEU = "bleu"
WHOLE = "all"  # the name of the whole test set among its parts

LengthLead = tuple[Bounds, PairTest]  # a length group, and how two systems differ in this group


def quote(system: System) -> str:
    """Return the label in quotes, since labels have commas and spaces."""
    return f"“{system.label}”"


def size(test: PairTest) -> str:
    """Return the difference without its sign, with its interval, in decimals that show it."""
    difference = max(test.difference, -test.difference, key=lambda d: d.value)
    return format_estimate(difference, next((n for n in (1, 2) if round(difference.value, n)), 3))


@dataclass(frozen=True, eq=False)
class GroupTests:
    """Systems that translated one test set, and what tests say of their differences."""

    evaluation: Evaluation
    group: EvalGroup
    tests: SignificanceTests

    @cached_property
    def ranked(self) -> list[System]:
        """The systems with BLEU, the highest first."""
        scores = {s: self.evaluation.estimate(s, None, BLEU) for s in self.group.systems}
        known = {system: score.value for system, score in scores.items() if score is not None}
        return sorted(known, key=lambda system: -known[system])

    @cached_property
    def bounds(self) -> list[Bounds]:
        """The length groups with enough sentences to be tested, shortest first."""
        return [each.bounds for each in self.group.buckets if not each.thin]

    def test(self, first: System, second: System, subset: str) -> PairTest | None:
        """Return the test on the sentences named ``subset``; None where there is none."""
        return self.tests.by_pair.get((first.name, second.name, subset))

    def by_length(self, first: System, second: System) -> list[LengthLead]:
        """Return the tests in the length groups, shortest first."""
        return [
            (bounds, found)
            for bounds in self.bounds
            if (found := self.test(first, second, bounds.label)) is not None
        ]

    def bleu(self, system: System, bounds: Bounds | None = None) -> Estimate:
        """Return BLEU with its interval over sentences, without the deviation over seeds."""
        estimate = self.evaluation.estimate(system, bounds, BLEU)
        assert estimate is not None
        return replace(estimate, deviation=None)

    def named(self, bounds: Bounds) -> str:
        """Return the name of a length group with its unit."""
        return self.evaluation.scoring.bucket_name(bounds)

    def tested(self, *tests: PairTest) -> str:
        """Return how differences were tested, and the largest p-value."""
        p = p_statement(max(each.p_bootstrap_holm for each in tests), self.tests.floor)
        return f"paired bootstrap, {p} (Holm, {len(self.tests.tests)} tests)"

    @cached_property
    def real_trends(self) -> list[Trend]:
        """The real trends of all pairs: the first system keeps more of its BLEU with length."""
        [metric] = [each for each in self.evaluation.metrics if each.name == BLEU]
        trends = compare_trends(
            self.group.systems,
            self.group.buckets,
            self.group.subsets[1:],
            metric,
            self.evaluation.test_draws,
        )
        return [_rising(each) for each in trends if each.p_holm < SIGNIFICANT]

    @cached_property
    def trend(self) -> Trend | None:
        """The steepest real trend.

        Those of the best system come first, and of these the ones in which the first system is
        ahead on the longest sentences: one that translates nothing has nothing to lose.
        """
        real, best = self.real_trends, self.ranked[0].name
        of_best = [each for each in real if best in (each.first, each.second)] or real
        ahead = [each for each in of_best if self._ends_ahead(each)] or of_best
        return max(ahead, key=lambda each: each.slope.value, default=None)

    def _ends_ahead(self, trend: Trend) -> bool:
        """Return whether the first system of a trend leads in the longest group."""
        by_name = {system.name: system for system in self.group.systems}
        last = self.test(by_name[trend.first], by_name[trend.second], self.bounds[-1].label)
        return last is not None and leads(last)

    @cached_property
    def contest(self) -> tuple[System, System]:
        """The two systems that the findings compare: those of ``trend``, else the two highest."""
        if self.trend is None:
            return self.ranked[0], self.ranked[1]
        by_name = {system.name: system for system in self.group.systems}
        return by_name[self.trend.first], by_name[self.trend.second]


def _rising(trend: Trend) -> Trend:
    """Return a trend with the system first that gains on the other."""
    if trend.slope.value >= 0:
        return trend
    return replace(trend, first=trend.second, second=trend.first, slope=-trend.slope)


def group_tests(evaluation: Evaluation, bleu: SignificanceTests | None) -> list[GroupTests]:
    """Return the test sets that several systems translated, with their tests; none without."""
    if bleu is None:
        return []
    return [
        GroupTests(evaluation, group, bleu) for group in evaluation.groups if len(group.systems) > 1
    ]


def below(one: Estimate, other: Estimate) -> bool:
    """Return whether the whole interval of one score is below that of another."""
    return one.high is not None and other.low is not None and one.high < other.low
