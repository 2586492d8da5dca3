"""How BLEU changes with sentence length, where curves part, and which curves cross."""

from collections.abc import Collection, Iterator

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from lightning_modules.metrics.uncertainty.trends import Trend, compare_trends
from sweeps.evaluation.numbers import p_floor, p_statement, shown_estimate
from sweeps.evaluation.significance import SIGNIFICANT
from sweeps.report.opening.finding import Finding, enumerated, quoted
from sweeps.report.opening.tested_group import BLEU, Difference, TestedGroup

Tested = tuple[Bounds, Difference]
"""A length group, and how two systems differ in this group."""


def lengths(group: TestedGroup, train_limits: Collection[int]) -> Iterator[Finding]:
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
        f"straight-line trend over all lengths: for every ten words more, the difference "
        f"{'grows' if leading else 'changes'} by {shown_estimate(slope, 1)}, paired bootstrap, {p} "
        f"(Holm, {pairs} {'pair' if pairs == 1 else 'pairs'})"
    )
    claim = (
        f"From {first.label} to {group.evaluation.scoring.bucket_name(last)}"
        f"{_beyond(last, train_limits, group)}, BLEU of {quoted(losing)} "
        f"{_change(group, losing, first, last)}; BLEU of {quoted(gaining)} "
        f"{_change(group, gaining, first, last)}"
    )
    if not leading:
        yield Finding(claim, test)
        return
    claim += f". {_ahead(group, gaining, losing, leading)}"
    test += f"; each length group: {group.tested(max(each.p for _, each in leading))}"
    yield Finding(claim, test, _ends(group, gaining, losing, train_limits))


def crossing(group: TestedGroup) -> Iterator[Finding]:
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
        f"The curves of {quoted(best)} and {quoted(other)} cross: {quoted(other)} is ahead by "
        f"{ahead[1].size} at {name(ahead[0])}, and behind by {behind[1].size} at {name(behind[0])}",
        group.tested(max(ahead[1].p, behind[1].p)),
    )


def _value(found: Tested) -> float:
    return found[1].value.value


def _widest(group: TestedGroup) -> Trend | None:
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


def _beyond(last: Bounds, train_limits: Collection[int], group: TestedGroup) -> str:
    """Return a note if all sentences of the last group are longer than those of training."""
    counted_in_words = group.evaluation.scoring.unit.endswith("words")
    if not train_limits or not counted_in_words or last.low <= max(train_limits):
        return ""
    return f" (training sentences have at most {max(train_limits)})"


def _change(group: TestedGroup, system: System, first: Bounds, last: Bounds) -> str:
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


def _leading(group: TestedGroup, ahead: System, behind: System) -> list[Tested]:
    """Return the length groups from which on a system leads, in each and in all longer ones."""
    found = group.by_length(ahead, behind)
    start = len(found)
    while start and found[start - 1][1].ahead:
        start -= 1
    return found[start:]


def _where(group: TestedGroup, leading: list[Tested], found: list[Tested]) -> str:
    """Return ``in every length group``, or from which of the ``found`` groups on."""
    if len(leading) == len(found):
        return "in every length group"
    where = f"from {group.evaluation.scoring.bucket_name(leading[0][0])} on"
    before = found[: -len(leading)]
    return where if any(each.real for _, each in before) else f"{where}, and not before"


def _ahead(group: TestedGroup, ahead: System, behind: System, leading: list[Tested]) -> str:
    """Say in which groups a system leads, and how far: in the first, the widest and the last."""
    where = _where(group, leading, group.by_length(ahead, behind))
    name = group.evaluation.scoring.bucket_name
    shown = dict([leading[0], max(leading, key=_value), leading[-1]])
    sizes = [f"by {lead.size} at {name(bounds)}" for bounds, lead in shown.items()]
    return f"{quoted(ahead)} is ahead of {quoted(behind)} {where}: {enumerated(sizes)}"


def _ends(group: TestedGroup, ahead: System, behind: System, train_limits: Collection[int]) -> str:
    """Return BLEU of two systems in the longest and the shortest group, without intervals."""
    name, first, last = group.evaluation.scoring.bucket_name, group.bounds[0], group.bounds[-1]
    at_last, at_first = (
        [group.bleu_alone(system, bounds) for system in (ahead, behind)] for bounds in (last, first)
    )
    longer = ", longer than any training sentence" if _beyond(last, train_limits, group) else ""
    return (
        f"At {name(last)}{longer}, BLEU is {at_last[0]} with {quoted(ahead)} and {at_last[1]} with "
        f"{quoted(behind)}; at {name(first)}, {at_first[0]} and {at_first[1]}"
    )


def _parting(group: TestedGroup) -> Iterator[Finding]:
    """Say from which lengths on the best system is ahead of the last."""
    ahead, behind = group.ranked[0], group.ranked[-1]
    leading = _leading(group, ahead, behind)
    if not leading:
        return
    yield Finding(
        _ahead(group, ahead, behind, leading),
        f"{group.tested(max(each.p for _, each in leading))} in each length group",
    )
