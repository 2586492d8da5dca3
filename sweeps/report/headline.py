"""What was found, in a few sentences: each is made from the data and names its test.

A sentence says that systems differ only where a test after Holm's correction says so.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from statistics import mean

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.pair_tests import Trend, compare_trends
from lightning_modules.metrics.systems import System
from lightning_modules.runs.schema import Result
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.numbers import (
    format_duration,
    format_estimate,
    format_size,
    in_words,
    p_floor,
    p_statement,
)
from sweeps.comparison.outputs import RunOutput
from sweeps.comparison.significance_tables import SIGNIFICANT, SignificanceTests
from sweeps.report.system_pairs import BLEU, WHOLE, Difference, Finding, GroupTests, quote

LISTED = 4  # most systems that a sentence lists
TIMED = 5  # most systems of which a sentence tells the time
LengthLead = tuple[Bounds, Difference]  # a length group, and how two systems differ in this group


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
    leads = {each: group.difference(best, each, WHOLE) for each in others}
    tested = {each: lead for each, lead in leads.items() if lead is not None}
    behind = [each for each, lead in tested.items() if lead.real]
    alike = [each for each in tested if each not in behind]
    if not tested:
        return
    if not behind:
        least = min(lead.p for lead in tested.values())
        nothing = "No system is shown to have a higher BLEU than another"
        yield Finding(f"{nothing}: {_scored(group, group.ranked)}", group.tested(least), nothing)
        return
    lead = tested[behind[0]]
    if alike:
        yield Finding(
            f"The highest BLEU have {_scored(group, [best, *alike])}, whose order is not shown; "
            f"the first has {lead.size} more than {quote(behind[0])}, the next",
            group.tested(lead.p),
            f"{in_words([quote(each) for each in [best, *alike]])} have the highest BLEU; their "
            "order is not shown",
        )
        return
    next_of = ", the next" if len(behind) > 1 else ""
    yield Finding(
        f"{quote(best)} has the highest BLEU on the whole test set, {group.score(best, None)}: "
        f"{lead.size} more than {quote(behind[0])}{next_of}",
        group.tested(lead.p),
        f"{quote(best)} has the highest BLEU",
    )


def answer(findings: Sequence[Finding]) -> str | None:
    """Return the answer to the question of a comparison in one short sentence; None if unknown.

    BLEU against length comes before the best system: lengths are what a comparison is about.
    """
    shorts = [each.short for each in findings if each.short]
    return f"{shorts[-1]}." if shorts else None


def _scored(group: GroupTests, systems: Sequence[System]) -> str:
    shown = [f"{quote(each)} with {group.score(each, None)}" for each in systems[:LISTED]]
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
        yield from _parting(group)
        return
    by_name = {system.name: system for system in group.group.systems}
    gaining, losing, slope = by_name[trend.first], by_name[trend.second], trend.slope
    if slope.value < 0:
        gaining, losing, slope = losing, gaining, -slope
    first, last = group.bounds[0], group.bounds[-1]
    pairs = len(group.group.systems) * (len(group.group.systems) - 1) // 2
    p = p_statement(trend.p, p_floor(group.evaluation.draws.count, pairs))
    leading = _leading(group, gaining, losing)
    test = (
        "straight-line trend over all lengths: for every ten words more, the difference "
        f"{'grows' if leading else 'changes'} by {format_estimate(slope, 1)}, paired bootstrap, "
        f"{p} (Holm, {pairs} {'pair' if pairs == 1 else 'pairs'})"
    )
    claim = (
        f"From {first.label} to {group.evaluation.scoring.bucket_name(last)}"
        f"{_beyond(last, train_limits, group)}, BLEU of {quote(losing)} "
        f"{_change(group, losing, first, last)}; BLEU of {quote(gaining)} "
        f"{_change(group, gaining, first, last)}"
    )
    if not leading:
        yield Finding(claim, test)
        return
    claim += f". {_ahead(group, gaining, losing, leading)}"
    test += f"; each length group: {group.tested(max(each.p for _, each in leading))}"
    yield Finding(claim, test, _ends(group, gaining, losing, train_limits))


def _crossing(group: GroupTests) -> Iterator[Finding]:
    """Name the system that is ahead of the best one at some lengths, and behind at others."""
    best, *others = group.ranked
    found = [
        (other, most_ahead, most_behind)
        for other in others
        if (by_length := group.by_length(other, best))
        and (most_ahead := max(by_length, key=_value))[1].ahead
        and (most_behind := min(by_length, key=_value))[1].behind
    ]
    if not found:
        return
    other, ahead, behind = max(found, key=lambda each: _value(each[1]) - _value(each[2]))
    name = group.evaluation.scoring.bucket_name
    yield Finding(
        f"The curves of {quote(best)} and {quote(other)} cross: {quote(other)} is ahead by "
        f"{ahead[1].size} at {name(ahead[0])}, and behind by {behind[1].size} at {name(behind[0])}",
        group.tested(max(ahead[1].p, behind[1].p)),
    )


def _value(found: LengthLead) -> float:
    return found[1].value.value


def _widest(group: GroupTests) -> Trend | None:
    """Return the real trend that concerns the best system, else any system, and is steepest."""
    [metric] = [each for each in group.evaluation.metrics if each.name == BLEU]
    trends = compare_trends(
        group.group.systems,
        group.group.buckets,
        group.group.subsets[1:],
        metric,
        group.evaluation.draws,
    )
    real = [each for each in trends if each.p < SIGNIFICANT]
    best = group.ranked[0].name
    of_best = [each for each in real if best in (each.first, each.second)]
    return max(of_best or real, key=lambda each: abs(each.slope.value), default=None)


def _beyond(last: Bounds, train_limits: Collection[int], group: GroupTests) -> str:
    """Return a note if all sentences of the last group are longer than those of training."""
    counted_in_words = group.evaluation.scoring.unit.endswith("words")
    if not train_limits or not counted_in_words or last.low <= max(train_limits):
        return ""
    return f" (training sentences have at most {max(train_limits)})"


def _change(group: GroupTests, system: System, first: Bounds, last: Bounds) -> str:
    start, end = (group.evaluation.estimate(system, each, BLEU) for each in (first, last))
    shown = group.score(system, first), group.score(system, last)
    if _below(end, start):
        return f"falls from {shown[0]} to {shown[1]}"
    if _below(start, end):
        return f"rises from {shown[0]} to {shown[1]}"
    return f"stays about the same, {shown[0]} and {shown[1]}"


def _below(one: Estimate | None, other: Estimate | None) -> bool:
    """Return whether the whole interval of an estimate is below that of another."""
    if one is None or other is None or one.high is None or other.low is None:
        return False
    return one.high < other.low


def _leading(group: GroupTests, ahead: System, behind: System) -> list[LengthLead]:
    """Return the length groups from which on a system leads, in each and in all longer ones."""
    found = group.by_length(ahead, behind)
    start = len(found)
    while start and found[start - 1][1].ahead:
        start -= 1
    return found[start:]


def _where(group: GroupTests, leading: list[LengthLead], found: list[LengthLead]) -> str:
    """Return ``in every length group``, or from which of the ``found`` groups on."""
    if len(leading) == len(found):
        return "in every length group"
    where = f"from {group.evaluation.scoring.bucket_name(leading[0][0])} on"
    before = found[: -len(leading)]
    return where if any(each.real for _, each in before) else f"{where}, and not before"


def _ahead(group: GroupTests, ahead: System, behind: System, leading: list[LengthLead]) -> str:
    """Say in which groups a system leads, and how far: in the first, the widest and the last."""
    where = _where(group, leading, group.by_length(ahead, behind))
    name = group.evaluation.scoring.bucket_name
    shown = dict([leading[0], max(leading, key=_value), leading[-1]])
    sizes = [f"by {lead.size} at {name(bounds)}" for bounds, lead in shown.items()]
    return f"{quote(ahead)} is ahead of {quote(behind)} {where}: {in_words(sizes)}"


def _ends(group: GroupTests, ahead: System, behind: System, train_limits: Collection[int]) -> str:
    """Return BLEU of two systems in the longest and the shortest group, without intervals."""
    name, first, last = group.evaluation.scoring.bucket_name, group.bounds[0], group.bounds[-1]
    at_last, at_first = (
        [group.bleu_alone(system, bounds) for system in (ahead, behind)] for bounds in (last, first)
    )
    longer = ", longer than any training sentence" if _beyond(last, train_limits, group) else ""
    return (
        f"At {name(last)}{longer}, BLEU is {at_last[0]} with {quote(ahead)} and {at_last[1]} with "
        f"{quote(behind)}; at {name(first)}, {at_first[0]} and {at_first[1]}"
    )


def _parting(group: GroupTests) -> Iterator[Finding]:
    """Say from which lengths on the best system is ahead of the last."""
    ahead, behind = group.ranked[0], group.ranked[-1]
    leading = _leading(group, ahead, behind)
    if not leading:
        return
    yield Finding(
        _ahead(group, ahead, behind, leading),
        f"{group.tested(max(each.p for _, each in leading))} in each length group",
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
    sizes = [_parameters(runs) for runs in timed.values()]
    size = _span(sizes, format_size)
    several = any(len(runs) > 1 for runs in timed.values())
    trained = [run.result for runs in timed.values() for run in runs]
    yield Finding(
        f"A training{_hardware(trained)} took {in_words(times)}; the models have {size} "
        f"parameters{_memory(trained)}",
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
    training = run.result.training
    return bool(training.seconds and run.result.parameters)


def _seconds(runs: Sequence[RunOutput]) -> float:
    return mean(run.result.training.seconds or 0 for run in runs)


def _parameters(runs: Sequence[RunOutput]) -> float:
    return mean(run.result.parameters or 0 for run in runs)


def _hardware(results: Sequence[Result]) -> str:
    devices = {result.environment.device for result in results} - {None}
    return f" on {in_words(sorted(map(_device_name, devices)))}" if devices else ""


def _device_name(device: str | None) -> str:
    return "a CPU" if device == "cpu" else f"a {device}"


def _memory(results: Sequence[Result]) -> str:
    peaks = [result.peak_memory_mib for result in results if result.peak_memory_mib]
    return f"; no process took more than {max(peaks):,.0f} MiB of memory" if peaks else ""
