"""What was found, in a few sentences: each is made from the data and names its test.

A sentence says that systems differ only where a test after Holm's correction says so.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.pair_tests import PairTest, Trend, compare_trends
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import format_estimate, format_number, in_words, p_floor, p_statement
from sweeps.comparison.significance_tables import SIGNIFICANT, SignificanceTests, differ, leads

LISTED = 4  # most systems that a sentence lists
COMPARED = 5  # most systems whose falls the answer compares


@dataclass(frozen=True)
class Finding:
    """A sentence about the systems, and the test that stands behind the sentence."""

    claim: str
    test: str
    short: str = ""
    """The claim in a few words, for the top of the page; empty for what never stands there."""

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

    @cached_property
    def trend(self) -> Trend | None:
        """The steepest real trend: its first system keeps more of its BLEU with length.

        Those of the best system come first, and of these the ones in which the first system is
        ahead on the longest sentences: one that translates nothing has nothing to lose.
        """
        [metric] = [each for each in self.evaluation.metrics if each.name == BLEU]
        trends = compare_trends(
            self.group.systems,
            self.group.buckets,
            self.group.subsets[1:],
            metric,
            self.evaluation.test_draws,
        )
        real = [_rising(each) for each in trends if each.p_holm < SIGNIFICANT]
        best = self.ranked[0].name
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


def headline(groups: Sequence[GroupTests], train_limits: Collection[int]) -> list[Finding]:
    """Return the findings: the best system, BLEU against length, curves that cross.

    Of several test sets, each has the finding about its best system alone. ``train_limits`` are
    the lengths of the longest training sentences, in words.
    """
    if len(groups) == 1:
        [group] = groups
        return [*_best(group), *_lengths(group, train_limits), *_crossing(group)]
    return [
        finding.on(f"test set {number} of {len(groups)}")
        for number, group in enumerate(groups, start=1)
        for finding in _best(group)
    ]


def _best(group: GroupTests) -> Iterator[Finding]:
    """Name the system with the highest BLEU, and its lead over the next, where tests find one.

    A system that varies much may be far behind without a significant difference: it is not among
    the first if a system above it is behind.
    """
    best, *others = group.ranked
    leads_over = {each: group.test(best, each, WHOLE) for each in others}
    tested = {each: lead for each, lead in leads_over.items() if lead is not None}
    behind = [each for each, lead in tested.items() if differ(lead)]
    alike = list(takewhile(lambda each: each not in behind, tested))
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
            f"the first has {size(lead)} more than {quote(behind[0])}, the next"
            f"{_without_a_model(group)}",
            group.tested(lead),
            f"{in_words([quote(each) for each in [best, *alike]])} have the highest BLEU; their "
            "order is not shown",
        )
        return
    next_of = ", the next" if len(behind) > 1 else ""
    yield Finding(
        f"{quote(best)} has the highest BLEU on the whole test set, "
        f"{format_estimate(group.bleu(best), 1)}: {size(lead)} more than "
        f"{quote(behind[0])}{next_of}{_without_a_model(group)}",
        group.tested(lead),
        f"{quote(best)} has the highest BLEU",
    )


def _without_a_model(group: GroupTests) -> str:
    """Name the translation without a model that has a higher BLEU than every system, if any."""
    known = ((each, group.evaluation.mean(each, None, BLEU)) for each in group.group.baselines)
    scores = {each.label: bleu for each, bleu in known if bleu is not None}
    label = max(scores, key=lambda each: scores[each], default=None)
    if label is None or scores[label] <= group.bleu(group.ranked[0]).value:
        return ""
    return f"; the {label}, without a model, has {format_number(scores[label], 1)}"


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
    """Say how BLEU of two systems, of which one keeps a larger share, changes with length.

    Without a real trend: from which lengths on the best system is ahead of the last.
    """
    trend = group.trend
    if trend is None:
        ahead, behind = group.ranked[0], group.ranked[-1]
        if leading := _leading(group, ahead, behind):
            test = f"{group.tested(*(each for _, each in leading))} in each length group"
            yield Finding(_ahead(group, ahead, behind, leading), test)
        return
    gaining, losing = group.contest
    first, last = group.bounds[0], group.bounds[-1]
    pairs = math.comb(len(group.group.systems), 2)
    p = p_statement(trend.p_holm, p_floor(group.evaluation.test_draws.count, pairs))
    leading = _leading(group, gaining, losing)
    test = (
        f"trend over all lengths: for every ten words more, BLEU of {quote(gaining)} divided by "
        f"that of {quote(losing)} grows by {_percent_more(trend.slope)}, paired bootstrap, {p} "
        f"(Holm, {pairs} {'pair' if pairs == 1 else 'pairs'})"
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
    yield Finding(claim, test, _falls(group, beyond))


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


def _change(group: GroupTests, system: System) -> str:
    """Say how BLEU changes from the shortest to the longest group: by disjoint intervals."""
    start, end = (group.bleu(system, each) for each in (group.bounds[0], group.bounds[-1]))
    shown = format_estimate(start, 1), format_estimate(end, 1)
    if below(end, start):
        return f"falls from {shown[0]} to {shown[1]}"
    if below(start, end):
        return f"rises from {shown[0]} to {shown[1]}"
    return f"stays about the same, {shown[0]} and {shown[1]}"


def below(one: Estimate, other: Estimate) -> bool:
    """Return whether the whole interval of one score is below that of another."""
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


def _percent_more(slope: Estimate) -> str:
    """Return the rise of a logarithm as a percentage, with its interval."""
    ends = [each for each in (slope.value, slope.low, slope.high) if each is not None]
    value, *interval = [format_number(100 * math.expm1(each)) for each in ends]
    return f"{value}% [{', '.join(interval)}]" if interval else f"{value}%"


def _falls(group: GroupTests, beyond: bool) -> str:
    """Return the share of BLEU that systems lose up to the longest group, without intervals.

    The largest first; of many systems, those of ``group.contest``. A fall has disjoint intervals.
    """
    first, last = group.bounds[0], group.bounds[-1]
    systems = group.ranked if len(group.ranked) <= COMPARED else group.contest
    lost: dict[System, float] = {}
    for system in systems:
        start, end = (group.bleu(system, each) for each in (first, last))
        if below(end, start):
            lost[system] = 1 - end.value / start.value
    falls = [
        f"{lost[each]:.0%} with {quote(each)}" for each in sorted(lost, key=lambda s: -lost[s])
    ]
    others = [quote(each) for each in systems if each not in lost]
    said = [f"BLEU falls by {in_words(falls)}"] if falls else []
    if others:
        said.append(f"{'no fall' if falls else 'no fall of BLEU'} is shown with {in_words(others)}")
    longer = ", longer than any training sentence" if beyond else ""
    return f"From {first.label} to {group.named(last)}{longer}, {'; '.join(said)}"
