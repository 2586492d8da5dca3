"""Findings of the second rank: scores that disagree, right links, failures that explain a fall."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.bleu import bleu
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.failures import TranslationKind, loops
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.pair_tests import PairTest
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import EvalGroup
from sweeps.comparison.failure_shares import FailureShares
from sweeps.comparison.numbers import format_estimate, format_number, in_words, p_statement
from sweeps.comparison.significance_tables import SignificanceTests, differ, leads
from sweeps.report.group_tests import BLEU, WHOLE, GroupTests, below, quote, size
from sweeps.report.headline import LISTED, Finding

AER = "aer"  # name of the alignment error
EXPLAINING = (TranslationKind.UNKNOWN, TranslationKind.SHORT, TranslationKind.LONG)
"""Kinds that may explain a fall; without the wrong words nothing would be left but right ones."""
LEAST_SHARE, LEAST_PART = 10.0, 0.5
"""Percentage of the longest translations, and part of the fall, that a kind must account for."""
MOST_EXPLAINED = 3  # most systems whose fall is explained
SAID = {
    TranslationKind.UNKNOWN: "have an unknown word at about the right length",
    TranslationKind.SHORT: "are too short",
    TranslationKind.LONG: "are too long or repeat themselves",
}


def disagreements(group: GroupTests, tested: Mapping[str, SignificanceTests]) -> Iterator[Finding]:
    """Name the other scores by which another system leads the one with the highest BLEU.

    Both leads, in BLEU and in the other score, are significant on the whole test set.
    """
    best, *others = group.ranked
    found: list[tuple[str, float]] = []
    others_tested = {name: tests for name, tests in tested.items() if name != BLEU}
    for tests in others_tested.values():
        ahead = [
            (other, lead)
            for other in others
            if (of_bleu := group.test(best, other, WHOLE)) is not None
            and leads(of_bleu)
            and (lead := tests.by_pair.get((other.name, best.name, WHOLE))) is not None
            and differ(lead)
            and lead.difference.value * tests.metric.better > 0
        ]
        if ahead:
            other, lead = max(ahead, key=lambda each: abs(each[1].difference.value))
            found.append((_ahead_by(group, best, other, tests, lead), lead.p_bootstrap_holm))
    if found:
        claims = "; ".join(claim for claim, _ in found)
        floor = max(tests.floor for tests in others_tested.values())
        yield Finding(
            "Other scores",
            f"{quote(best)}, which has the highest BLEU, is not first on every score: {claims}",
            f"paired bootstrap and randomisation, {p_statement(max(p for _, p in found), floor)} "
            "(Holm, over all tests of a score)",
        )


def right_links(group: GroupTests) -> Iterator[Finding]:
    """Say whether the system with the highest BLEU attends to the right words most often, too.

    Nothing where its alignment error is not known, or the intervals of the two errors overlap.
    """
    evaluation = group.evaluation
    if AER not in {metric.name for metric in evaluation.metrics}:
        return
    known = ((each, evaluation.estimate(each, None, AER)) for each in group.ranked)
    errors = {each: error for each, error in known if error is not None}
    best, *_ = group.ranked
    if best not in errors or len(errors) < 2:
        return
    least, second = sorted(errors, key=lambda each: errors[each].value)[:2]
    worse = second if least == best else best
    low, high = errors[worse].low, errors[least].high
    if low is None or high is None or low <= high:
        return
    also = ", whose BLEU is the highest, also has" if least == best else " has"
    whose = "" if least == best else ", whose BLEU is the highest,"
    yield Finding(
        "Attention",
        f"{quote(least)}{also} the lowest alignment error, {format_estimate(errors[least], 1)}%; "
        f"{quote(worse)}{whose} has {format_estimate(errors[worse], 1)}%",
        "lower is better; the intervals do not overlap",
    )


def _ahead_by(
    group: GroupTests, best: System, other: System, tests: SignificanceTests, lead: PairTest
) -> str:
    metric = tests.metric
    values = [
        format_number(value, metric.decimals)
        for system in (other, best)
        if (value := group.evaluation.mean(system, None, metric.name)) is not None
    ]
    return f"by {metric.label}, {quote(other)} is ahead by {size(lead)} ({in_words(values)})"


class Explanation(NamedTuple):
    """A kind of failure that explains why BLEU of a system falls with length."""

    system: System
    kind: TranslationKind
    first: Bounds
    last: Bounds  # the shortest and the longest group with enough sentences
    shares: tuple[Estimate, Estimate]  # percentages of the kind in both groups
    scores: tuple[Estimate, Estimate]  # BLEU in both groups
    without: float  # BLEU in the last group without the translations of this kind

    @property
    def part(self) -> float:
        """The part of the fall that is gone without these translations."""
        start, end = (score.value for score in self.scores)
        return (self.without - end) / (start - end)


def explanations(failures: FailureShares, group: EvalGroup) -> list[Explanation]:
    """Return the kind that explains the fall of each system, the largest part of a fall first.

    A kind explains a fall where all of these hold:

    - BLEU falls: the 95% intervals of the shortest and the longest group do not overlap;
    - the share of the kind rises in the same sense, and is at least ``LEAST_SHARE`` percent;
    - without the translations of this kind, the longest group regains at least ``LEAST_PART`` of
      the fall, on at least ``THIN`` sentences.
    """
    bounds = [each.bounds for each in group.buckets if not each.thin]
    if len(bounds) < 2:
        return []
    found = []
    for system in group.systems:
        of_system = [
            each
            for kind in EXPLAINING
            if (each := _explanation(failures, group, system, kind, bounds[0], bounds[-1]))
            and each.part >= LEAST_PART
        ]
        if of_system:
            found.append(max(of_system, key=lambda each: each.part))
    return sorted(found, key=lambda each: -each.part)


def _explanation(
    failures: FailureShares,
    group: EvalGroup,
    system: System,
    kind: TranslationKind,
    first: Bounds,
    last: Bounds,
) -> Explanation | None:
    """Return what a kind may explain; None unless BLEU falls and the share of the kind rises."""
    ends = first, last
    start, end = (failures.evaluation.estimate(system, each, BLEU) for each in ends)
    before, after = (failures.share(system, kind, each) for each in ends)
    if start is None or end is None or before is None or after is None:
        return None
    if not (below(end, start) and below(before, after) and after.value >= LEAST_SHARE):
        return None
    [index] = [each.index for each in group.buckets if each.bounds == last]
    kept = [index[kinds[index] != kind] for kinds in failures.kinds[system.name]]
    if min(map(len, kept)) < THIN:
        return None
    pairs = zip(system.outputs, kept, strict=True)
    without = np.mean([bleu(output.statistics[BLEU][rows].sum(0)) for output, rows in pairs])
    return Explanation(system, kind, first, last, (before, after), (start, end), float(without))


def explained_falls(failures: FailureShares, group: EvalGroup) -> Iterator[Finding]:
    """Say which kinds of failure explain the falls of up to ``MOST_EXPLAINED`` systems."""
    named = failures.evaluation.scoring.bucket_name
    for each in explanations(failures, group)[:MOST_EXPLAINED]:
        before, after = (_percent(share) for share in each.shares)
        start, end, without = (
            format_number(value, 1) for value in (*(s.value for s in each.scores), each.without)
        )
        said = _said(failures, group, each)
        yield Finding(
            "Failures",
            f"At {named(each.last)}, {after} of the translations by {quote(each.system)} {said} "
            f"(at {named(each.first)}: {before}); without them, its BLEU there would be {without} "
            f"rather than {end} (at {named(each.first)}: {start})",
            f"no test: disjoint 95% intervals of both shares; {each.part:.0%} of the fall is gone "
            "without these translations",
        )


def commonest_failures(failures: FailureShares, group: EvalGroup) -> str | None:
    """Return how many of each system's longest translations fail, and how they do most often.

    None if no kind has ``LEAST_SHARE`` percent of any system's. Of many systems, those are named
    that fail most.
    """
    bounds = [each.bounds for each in group.buckets if not each.thin]
    found: dict[TranslationKind, list[tuple[float, System]]] = {}
    for system in group.systems if bounds else []:
        shares = {kind: failures.share(system, kind, bounds[-1]) for kind in EXPLAINING}
        known = {kind: share.value for kind, share in shares.items() if share is not None}
        kind = max(known, key=lambda each: known[each], default=None)
        if kind is not None and known[kind] >= LEAST_SHARE:
            found.setdefault(kind, []).append((known[kind], system))
    if not found:
        return None
    said, of = [], " of the translations"
    for kind in sorted(found, key=lambda each: -max(share for share, _ in found[each])):
        shown = []
        for share, system in sorted(found[kind], key=lambda each: -each[0])[:LISTED]:
            shown.append(
                f"{share:.0f}%{of}{f' by {quote(system)}' if len(group.systems) > 1 else ''}"
            )
            of = ""
        said.append(f"{in_words(shown)} {SAID[kind]}")
    return f"At {failures.evaluation.scoring.bucket_name(bounds[-1])}, {'; '.join(said)}."


def _percent(share: Estimate) -> str:
    value = format_number(share.value, 1 if 0 < share.value < 10 else 0)
    if share.low is None or share.high is None:
        return f"{value}%"
    return f"{value}% [{format_number(share.low)}, {format_number(share.high)}]"


def _said(failures: FailureShares, group: EvalGroup, each: Explanation) -> str:
    """Return what the translations of a kind do: most that are too long repeat themselves."""
    if each.kind != TranslationKind.LONG:
        return SAID[each.kind]
    cut = each.system.test.rules.target.words
    references = each.system.test.references
    [index] = [bucket.index for bucket in group.buckets if bucket.bounds == each.last]
    looping = [
        loops(cut(output.hypotheses[row]), cut(references[row]))
        for output, kinds in zip(each.system.outputs, failures.kinds[each.system.name], strict=True)
        for row in index[kinds[index] == each.kind]
    ]
    share = np.mean(looping)
    if share == 1:
        return "repeat themselves"
    return f"{SAID[each.kind]} ({share:.0%} of these repeat themselves)"
