"""What was found, in a few sentences: each is made from the data and names its test.

A sentence says that systems differ only where a test after Holm's correction says so.
"""

from collections.abc import Iterator, Sequence

from lightning_modules.metrics.systems import System
from sweeps.comparison.collect import Comparison
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.significance import SignificanceTests
from sweeps.report.opening.costs import cost
from sweeps.report.opening.finding import Finding, enumerated, quoted
from sweeps.report.opening.length_findings import crossing, lengths
from sweeps.report.opening.tested_group import WHOLE, TestedGroup

LISTED = 4
"""Most systems that a sentence lists."""


def headline(
    evaluation: Evaluation, bleu: SignificanceTests | None, comparison: Comparison
) -> list[Finding]:
    """Return the findings: the best system, BLEU against length, curves that cross, the costs.

    Of several test sets, each has the finding about its best system alone.
    """
    if bleu is None:
        return []
    groups = [
        TestedGroup(evaluation, group, bleu)
        for group in evaluation.groups
        if len(group.systems) > 1
    ]
    if len(groups) == 1:
        [group] = groups
        return [
            *_best(group),
            *lengths(group, comparison.train_limits),
            *crossing(group),
            *cost(comparison, group.ranked[0]),
        ]
    return [
        finding.on(f"test set {number} of {len(groups)}")
        for number, group in enumerate(groups, start=1)
        for finding in _best(group)
    ]


def _best(group: TestedGroup) -> Iterator[Finding]:
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
            f"the first has {lead.size} more than {quoted(behind[0])}, the next",
            group.tested(lead.p),
            f"{enumerated([quoted(each) for each in [best, *alike]])} have the highest BLEU; their "
            "order is not shown",
        )
        return
    next_of = ", the next" if len(behind) > 1 else ""
    yield Finding(
        f"{quoted(best)} has the highest BLEU on the whole test set, {group.score(best, None)}: "
        f"{lead.size} more than {quoted(behind[0])}{next_of}",
        group.tested(lead.p),
        f"{quoted(best)} has the highest BLEU",
    )


def answer(findings: Sequence[Finding]) -> str | None:
    """Return the answer to the question of a comparison in one short sentence; None if unknown.

    BLEU against length comes before the best system: lengths are what a comparison is about.
    """
    shorts = [each.short for each in findings if each.short]
    return f"{shorts[-1]}." if shorts else None


def _scored(group: TestedGroup, systems: Sequence[System]) -> str:
    shown = [f"{quoted(each)} with {group.score(each, None)}" for each in systems[:LISTED]]
    if len(systems) > LISTED:
        shown.append(f"{len(systems) - LISTED} more")
    return enumerated(shown)
