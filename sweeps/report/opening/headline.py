"""What was found, in a few sentences: each is made from the data and names its test.

A sentence says that systems differ only where a test after Holm's correction says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from lightning_modules.metrics.uncertainty.trends import Trend, compare_trends
from sweeps.comparison.collect import Comparison
from sweeps.evaluation.evaluation import Evaluation, Group
from sweeps.evaluation.numbers import p_floor, p_statement, shown_estimate
from sweeps.evaluation.significance import SIGNIFICANT, SignificanceTests
from sweeps.report.opening.costs import cost
from sweeps.report.opening.finding import Finding, enumerated, quoted

BLEU = "bleu"
WHOLE = "all"
LISTED = 4
"""Most systems that a sentence lists."""


def headline(
    evaluation: Evaluation, bleu: SignificanceTests | None, comparison: Comparison
) -> list[Finding]:
    """Return the findings: the best system, BLEU against length, where curves part, what it costs.

    Of several test sets, each has the finding about its best system alone.
    """
    if bleu is None:
        return []
    groups = [
        _GroupFindings(evaluation, group, bleu)
        for group in evaluation.groups
        if len(group.systems) > 1
    ]
    if len(groups) == 1:
        of_training = cost(comparison, groups[0].ranked[0])
        return [*groups[0].all(), *([of_training] if of_training else [])]
    return [
        finding.on(f"test set {number} of {len(groups)}")
        for number, group in enumerate(groups, start=1)
        for finding in group.best()
    ]


@dataclass(frozen=True)
class _Difference:
    """The score of one system less that of another."""

    value: Estimate
    p: float

    @property
    def real(self) -> bool:
        return self.p < SIGNIFICANT

    def __str__(self) -> str:
        return shown_estimate(self.value, 1)


@dataclass(frozen=True, eq=False)
class _GroupFindings:
    """Findings about systems that translated one test set."""

    evaluation: Evaluation
    group: Group
    bleu: SignificanceTests

    def all(self) -> Iterator[Finding]:
        yield from self.best()
        yield from self.lengths()
        yield from self.parting()

    @cached_property
    def ranked(self) -> list[System]:
        """The systems with BLEU, the highest first."""
        scores = {s: self.evaluation.estimate(s, None, BLEU) for s in self.group.systems}
        known = {system: score.value for system, score in scores.items() if score is not None}
        return sorted(known, key=lambda system: -known[system])

    @cached_property
    def tests(self) -> dict[tuple[str, str, str], _Difference]:
        """Tests by the names of first and second system and the lengths, in both directions."""
        found: dict[tuple[str, str, str], _Difference] = {}
        for each in self.bleu.tests:
            test, p = each.test, each.p_bootstrap
            found[test.first, test.second, test.subset] = _Difference(test.difference, p)
            found[test.second, test.first, test.subset] = _Difference(-test.difference, p)
        return found

    def difference(self, first: System, second: System, subset: str) -> _Difference | None:
        return self.tests.get((first.name, second.name, subset))

    def score(self, system: System, bounds: Bounds | None) -> str:
        """Return BLEU with its interval over sentences, without the deviation over seeds."""
        estimate = self.evaluation.estimate(system, bounds, BLEU)
        assert estimate is not None
        return shown_estimate(Estimate(estimate.value, estimate.low, estimate.high), 1)

    def scored(self, systems: Sequence[System]) -> str:
        shown = [f"{quoted(each)} with {self.score(each, None)}" for each in systems[:LISTED]]
        if len(systems) > LISTED:
            shown.append(f"{len(systems) - LISTED} more")
        return enumerated(shown)

    def named(self, p: float) -> str:
        """Return the name of the test of a difference."""
        return (
            f"paired bootstrap, {p_statement(p, self.bleu.floor)} after Holm's correction over "
            f"{len(self.bleu.tests)} tests"
        )

    def best(self) -> Iterator[Finding]:
        """Which system has the highest BLEU, and is its lead real?"""
        best, *others = self.ranked
        leads = {each: self.difference(best, each, WHOLE) for each in others}
        tested = {each: lead for each, lead in leads.items() if lead is not None}
        behind = [each for each, lead in tested.items() if lead.real]
        alike = [each for each in tested if each not in behind]
        if not tested:
            return
        if not behind:
            least = min(lead.p for lead in tested.values())
            yield Finding(
                f"No system is shown to have a higher BLEU than another: "
                f"{self.scored(self.ranked)}",
                self.named(least),
            )
            return
        lead = tested[behind[0]]
        if alike:
            yield Finding(
                f"The highest BLEU have {self.scored([best, *alike])}, whose order is not shown; "
                f"the first has {lead} more than {quoted(behind[0])}, the next",
                self.named(lead.p),
            )
            return
        next_of = ", the next" if len(behind) > 1 else ""
        yield Finding(
            f"{quoted(best)} has the highest BLEU, {self.score(best, None)}: {lead} more than "
            f"{quoted(behind[0])}{next_of}",
            self.named(lead.p),
        )

    @cached_property
    def tested_bounds(self) -> list[Bounds]:
        """The length groups with enough sentences to be tested, shortest first."""
        return [each.bounds for each in self.group.buckets if not each.thin]

    @cached_property
    def widest(self) -> Trend | None:
        """The real trend that concerns the best system, else any system, and is the steepest."""
        [metric] = [each for each in self.evaluation.metrics if each.name == BLEU]
        trends = compare_trends(
            self.group.systems,
            self.group.buckets,
            self.group.subsets[1:],
            metric,
            self.evaluation.draws,
        )
        real = [each for each in trends if each.p < SIGNIFICANT]
        best = self.ranked[0].name
        of_best = [each for each in real if best in (each.first, each.second)]
        return max(of_best or real, key=lambda each: abs(each.slope.value), default=None)

    @cached_property
    def extremes(self) -> tuple[System, System] | None:
        """The systems of the widest trend: the one that gains with length, and the other."""
        if self.widest is None:
            return None
        by_name = {system.name: system for system in self.group.systems}
        pair = by_name[self.widest.first], by_name[self.widest.second]
        return pair if self.widest.slope.value > 0 else (pair[1], pair[0])

    def lengths(self) -> Iterator[Finding]:
        """How does BLEU change with length?"""
        if self.widest is None or self.extremes is None:
            return
        first, last = self.tested_bounds[0], self.tested_bounds[-1]
        gaining, losing = self.extremes
        slope = self.widest.slope
        slope = slope if slope.value > 0 else -slope
        unit = self.evaluation.scoring.bucket_name(last)
        pairs = len(self.group.systems) * (len(self.group.systems) - 1) // 2
        yield Finding(
            f"Between {first.label} and {unit}, BLEU of {quoted(losing)} "
            f"{self._change(losing, first, last)}, and of {quoted(gaining)} it "
            f"{self._change(gaining, first, last)}: with every ten more words the second gains "
            f"{shown_estimate(slope, 1)} on the first",
            "trend of the difference against length, paired bootstrap, "
            f"{p_statement(self.widest.p, p_floor(self.evaluation.draws.count, pairs))} after "
            f"Holm's correction over {pairs} {'pair' if pairs == 1 else 'pairs'}",
        )

    def _change(self, system: System, first: Bounds, last: Bounds) -> str:
        start, end = (self.evaluation.estimate(system, each, BLEU) for each in (first, last))
        shown = self.score(system, first), self.score(system, last)
        if _below(end, start):
            return f"falls from {shown[0]} to {shown[1]}"
        if _below(start, end):
            return f"rises from {shown[0]} to {shown[1]}"
        return f"stays about the same, {shown[0]} and {shown[1]}"

    def parting(self) -> Iterator[Finding]:
        """From which length group on does one system lead, in that group and all longer ones?"""
        ahead, behind = self.extremes or (self.ranked[0], self.ranked[-1])
        found = [
            (bounds, lead)
            for bounds in self.tested_bounds
            if (lead := self.difference(ahead, behind, bounds.label)) is not None
        ]
        start = len(found)
        while start and found[start - 1][1].real and found[start - 1][1].value.value > 0:
            start -= 1
        if start == len(found):
            return
        name = self.evaluation.scoring.bucket_name
        (first, at_first), (last, at_last) = found[start], found[-1]
        where = "in every length group" if not start else f"from {name(first)} on"
        before = (
            "" if any(lead.real for _, lead in found[:start]) or not start else ", and not before"
        )
        values = f"{at_first} at {name(first)}"
        if last != first:
            values += f" and {at_last} at {name(last)}"
        yield Finding(
            f"{quoted(ahead)} is ahead of {quoted(behind)} {where}{before}: by {values}",
            f"{self.named(max(lead.p for _, lead in found[start:]))}, in each length group",
        )


def _below(one: Estimate | None, other: Estimate | None) -> bool:
    """Return whether the whole interval of an estimate is below that of another."""
    if one is None or other is None or one.high is None or other.low is None:
        return False
    return one.high < other.low
