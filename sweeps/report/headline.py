"""What was found, in a few sentences: each is made from the data and names its test.

A sentence says that systems differ only where a test after Holm's correction says so.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.pair_tests import PairTest, Trend, compare_trends
from lightning_modules.metrics.systems import System
from lightning_modules.runs.schema import Result
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import (
    format_duration,
    format_estimate,
    format_number,
    format_size,
    in_words,
    p_floor,
    p_statement,
)
from sweeps.comparison.outputs import RunOutput
from sweeps.comparison.significance_tables import SIGNIFICANT, SignificanceTests, differ, leads

LISTED = 4  # most systems that a sentence lists
TIMED = 5  # most systems of which a sentence tells the time


@dataclass(frozen=True)
class Finding:
    """A sentence about the systems, and the test that stands behind the sentence."""

    claim: str
    test: str
    short: str = ""
    """The claim in a few words, for the top of the page; empty for a claim of the second rank."""

    def on(self, part: str) -> "Finding":
        """Return the finding, said of one of several test sets."""
        return Finding(f"On {part}: {self.claim[:1].lower()}{self.claim[1:]}", self.test)

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.claim} ({self.test})"


def quote(system: System) -> str:
    """Return the label in quotes, since labels have commas and spaces."""
    return f"“{system.label}”"


BLEU = "bleu"
WHOLE = "all"  # the name of the whole test set among its parts


LengthLead = tuple[Bounds, PairTest]  # a length group, and how two systems differ in this group


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


def headline(
    evaluation: Evaluation, bleu: SignificanceTests | None, comparison: Comparison
) -> list[Finding]:
    """Return the findings: the best system, BLEU against length, curves that cross, the costs.

    Of several test sets, each has the finding about its best system alone.
    """
    if bleu is None:
        return []
    groups = [
        GroupTests(evaluation, group, bleu) for group in evaluation.groups if len(group.systems) > 1
    ]
    if len(groups) == 1:
        [group] = groups
        return [
            *_best(group),
            *_lengths(group, comparison.train_limits),
            *_crossing(group),
            *_cost(comparison, group.ranked[0]),
        ]
    return [
        finding.on(f"test set {number} of {len(groups)}")
        for number, group in enumerate(groups, start=1)
        for finding in _best(group)
    ]


def _best(group: GroupTests) -> Iterator[Finding]:
    """Name the system with the highest BLEU, and its lead over the next, where tests find one."""
    best, *others = group.ranked
    leads_over = {each: group.test(best, each, WHOLE) for each in others}
    tested = {each: lead for each, lead in leads_over.items() if lead is not None}
    behind = [each for each, lead in tested.items() if differ(lead)]
    alike = [each for each in tested if each not in behind]
    if not tested:
        return
    if not behind:
        least = min(tested.values(), key=lambda lead: lead.p_bootstrap_holm)
        nothing = "No system is shown to have a higher BLEU than another"
        yield Finding(f"{nothing}: {_scored(group, group.ranked)}", group.tested(least), nothing)
        return
    lead = tested[behind[0]]
    if alike:
        yield Finding(
            f"The highest BLEU have {_scored(group, [best, *alike])}, whose order is not shown; "
            f"the first has {size(lead)} more than {quote(behind[0])}, the next",
            group.tested(lead),
            f"{in_words([quote(each) for each in [best, *alike]])} have the highest BLEU; their "
            "order is not shown",
        )
        return
    next_of = ", the next" if len(behind) > 1 else ""
    yield Finding(
        f"{quote(best)} has the highest BLEU on the whole test set, "
        f"{format_estimate(group.bleu(best), 1)}: {size(lead)} more than "
        f"{quote(behind[0])}{next_of}",
        group.tested(lead),
        f"{quote(best)} has the highest BLEU",
    )


def answer(findings: Sequence[Finding]) -> str | None:
    """Return the answer to the question of a comparison in one short sentence; None if unknown.

    BLEU against length comes before the best system: lengths are what a comparison is about.
    """
    shorts = [each.short for each in findings if each.short]
    return f"{shorts[-1]}." if shorts else None


def _scored(group: GroupTests, systems: Sequence[System]) -> str:
    shown = [
        f"{quote(each)} with {format_estimate(group.bleu(each), 1)}" for each in systems[:LISTED]
    ]
    if len(systems) > LISTED:
        shown.append(f"{len(systems) - LISTED} more")
    return in_words(shown)


def _lengths(group: GroupTests, train_limits: Collection[int]) -> Iterator[Finding]:
    """Say how the two systems whose BLEU parts most change from the shortest to the longest group.

    Without a real trend: from which lengths on the best system is ahead of the last.
    ``train_limits`` are the lengths of the longest training sentences, in words.
    """
    trend = _widest(group)
    if trend is None:
        ahead, behind = group.ranked[0], group.ranked[-1]
        if leading := _leading(group, ahead, behind):
            test = f"{group.tested(*(each for _, each in leading))} in each length group"
            yield Finding(_ahead(group, ahead, behind, leading), test)
        return
    by_name = {system.name: system for system in group.group.systems}
    gaining, losing, slope = by_name[trend.first], by_name[trend.second], trend.slope
    if slope.value < 0:
        gaining, losing, slope = losing, gaining, -slope
    first, last = group.bounds[0], group.bounds[-1]
    pairs = math.comb(len(group.group.systems), 2)
    p = p_statement(trend.p_holm, p_floor(group.evaluation.test_draws.count, pairs))
    leading = _leading(group, gaining, losing)
    test = (
        "straight-line trend over all lengths: for every ten words more, the difference "
        f"{'grows' if leading else 'changes'} by {format_estimate(slope, 1)}, paired bootstrap, "
        f"{p} (Holm, {pairs} {'pair' if pairs == 1 else 'pairs'})"
    )
    in_words_of_source = group.evaluation.scoring.unit.endswith("words")
    beyond = bool(train_limits) and in_words_of_source and last.low > max(train_limits)
    note = f" (training sentences have at most {max(train_limits)})" if beyond else ""
    claim = (
        f"From {first.label} to {group.named(last)}{note}, BLEU of {quote(losing)} "
        f"{_change(group, losing)}; BLEU of {quote(gaining)} {_change(group, gaining)}"
    )
    if not leading:
        yield Finding(claim, test)
        return
    claim += f". {_ahead(group, gaining, losing, leading)}"
    test += f"; each length group: {group.tested(*(each for _, each in leading))}"
    yield Finding(claim, test, _ends(group, gaining, losing, beyond))


def _crossing(group: GroupTests) -> Iterator[Finding]:
    """Name the system that is ahead of the best one at some lengths, and behind at others."""
    best, *others = group.ranked
    found = [
        (other, most_ahead, most_behind)
        for other in others
        if (by_length := group.by_length(other, best))
        and leads((most_ahead := max(by_length, key=_value))[1])
        and differ((most_behind := min(by_length, key=_value))[1])
        and _value(most_behind) < 0
    ]
    if not found:
        return
    other, ahead, behind = max(found, key=lambda each: _value(each[1]) - _value(each[2]))
    yield Finding(
        f"The curves of {quote(best)} and {quote(other)} cross: {quote(other)} is ahead by "
        f"{size(ahead[1])} at {group.named(ahead[0])}, and behind by {size(behind[1])} at "
        f"{group.named(behind[0])}",
        group.tested(ahead[1], behind[1]),
    )


def _value(found: LengthLead) -> float:
    return found[1].difference.value


def _widest(group: GroupTests) -> Trend | None:
    """Return the real trend that concerns the best system, else any system, and is steepest."""
    [metric] = [each for each in group.evaluation.metrics if each.name == BLEU]
    trends = compare_trends(
        group.group.systems,
        group.group.buckets,
        group.group.subsets[1:],
        metric,
        group.evaluation.test_draws,
    )
    real = [each for each in trends if each.p_holm < SIGNIFICANT]
    best = group.ranked[0].name
    of_best = [each for each in real if best in (each.first, each.second)]
    return max(of_best or real, key=lambda each: abs(each.slope.value), default=None)


def _change(group: GroupTests, system: System) -> str:
    """Say how BLEU changes from the shortest to the longest group: by disjoint intervals."""
    start, end = (group.bleu(system, each) for each in (group.bounds[0], group.bounds[-1]))
    shown = format_estimate(start, 1), format_estimate(end, 1)
    if _below(end, start):
        return f"falls from {shown[0]} to {shown[1]}"
    if _below(start, end):
        return f"rises from {shown[0]} to {shown[1]}"
    return f"stays about the same, {shown[0]} and {shown[1]}"


def _below(one: Estimate, other: Estimate) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def _leading(group: GroupTests, ahead: System, behind: System) -> list[LengthLead]:
    """Return the length groups from which on a system leads, in each and in all longer ones."""
    found = group.by_length(ahead, behind)
    start = len(found)
    while start and leads(found[start - 1][1]):
        start -= 1
    return found[start:]


def _ahead(group: GroupTests, ahead: System, behind: System, leading: list[LengthLead]) -> str:
    """Say in which groups a system leads, and how far: in the first, the widest and the last."""
    before = group.by_length(ahead, behind)[: -len(leading)]
    where = f"from {group.named(leading[0][0])} on" if before else "in every length group"
    if before and not any(differ(each) for _, each in before):
        where += ", and not before"
    shown = dict([leading[0], max(leading, key=_value), leading[-1]])
    sizes = [f"by {size(lead)} at {group.named(bounds)}" for bounds, lead in shown.items()]
    return f"{quote(ahead)} is ahead of {quote(behind)} {where}: {in_words(sizes)}"


def _ends(group: GroupTests, ahead: System, behind: System, beyond: bool) -> str:
    """Return BLEU of two systems in the longest and the shortest group, without intervals."""
    first, last = group.bounds[0], group.bounds[-1]
    at_last, at_first = (
        [format_number(group.bleu(system, bounds).value, 1) for system in (ahead, behind)]
        for bounds in (last, first)
    )
    longer = ", longer than any training sentence" if beyond else ""
    return (
        f"At {group.named(last)}{longer}, BLEU is {at_last[0]} with {quote(ahead)} and "
        f"{at_last[1]} with {quote(behind)}; at {group.named(first)}, {at_first[0]} and "
        f"{at_first[1]}"
    )


def _cost(comparison: Comparison, best: System) -> Iterator[Finding]:
    """Say how long a training of each system took, the fastest first; nothing if not recorded.

    Of many systems: of the fastest, the best and the slowest. Then sizes, memory and hardware.
    """
    timed = {
        system: runs for system, runs in comparison.by_system.items() if all(map(_is_timed, runs))
    }
    if best not in timed:
        return
    fastest_first = sorted(timed, key=lambda system: _seconds(timed[system]))
    shown = fastest_first
    if len(shown) > TIMED:
        shown = [each for each in shown if each in (best, shown[0], shown[-1])]
    times = [f"{format_duration(_seconds(timed[each]))} ({quote(each)})" for each in shown]
    sizes = [mean(run.result.parameters or 0 for run in runs) for runs in timed.values()]
    size = _span(sizes, format_size)
    several = any(len(runs) > 1 for runs in timed.values())
    trained = [run.result for runs in timed.values() for run in runs]
    peak = max(result.peak_memory_mib or 0 for result in trained)
    memory = f"; no process took more than {peak:,.0f} MiB of memory" if peak else ""
    yield Finding(
        f"A training{_hardware(trained)} took {in_words(times)}; the models have {size} "
        f"parameters{memory}",
        f"{'means over seeds, ' if several else ''}no test; jobs side by side slow each other",
    )


def cost_range(comparison: Comparison) -> str | None:
    """Return what the cheapest and the dearest training took; None if not recorded."""
    runs = comparison.runs
    if not runs or not all(map(_is_timed, runs)):
        return None
    times = [run.result.training.seconds or 0 for run in runs]
    size = _span([run.result.parameters or 0 for run in runs], format_size)
    hardware = _hardware([run.result for run in runs])
    return f"{_span(times, format_duration)} a training{hardware}, {size} parameters"


def _span(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """Return the least and the largest value: ``1.17 M to 1.21 M``, or one if both look alike."""
    return " to ".join(dict.fromkeys([shown(min(values)), shown(max(values))]))


def _is_timed(run: RunOutput) -> bool:
    return bool(run.result.training.seconds and run.result.parameters)


def _seconds(runs: Sequence[RunOutput]) -> float:
    return mean(run.result.training.seconds or 0 for run in runs)


def _hardware(results: Sequence[Result]) -> str:
    names = {each.environment.device for each in results if each.environment.device}
    devices = ["a CPU" if name == "cpu" else f"a {name}" for name in sorted(names)]
    return f" on {in_words(devices)}" if devices else ""
