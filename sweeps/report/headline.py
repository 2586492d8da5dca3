"""What was found, in a few sentences: each is made from the data and names its test.

A sentence says that systems differ only where a test after Holm's correction says so.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple, Self

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.pair_tests import Trend
from lightning_modules.metrics.systems import System
from sweeps.comparison.numbers import format_estimate, format_number, in_words, p_floor, p_statement
from sweeps.comparison.significance_tables import differ, leads
from sweeps.report.group_tests import BLEU, WHOLE, GroupTests, LengthLead, below, quote, size

LISTED = 4  # most systems that a sentence lists
COMPARED = 5  # most systems whose falls the answer compares
HIGHEST, BY_LENGTH = "Highest BLEU", "By length"  # topics


class Listing(NamedTuple):
    """A sentence with a value for each system, which a page shows as a list."""

    before: str
    values: Sequence[tuple[str, str]]  # names of systems in quotes, and values
    after: str = ""  # further sentences

    def __str__(self) -> str:
        """Return all in one line."""
        values = in_words([f"{value} ({name})" for name, value in self.values])
        return ". ".join(part for part in (f"{self.before} {values}", self.after) if part)


@dataclass(frozen=True)
class Finding:
    """A sentence about the systems, and the test that stands behind the sentence."""

    topic: str  # what the sentence is about, in a word or two
    claim: str
    test: str
    short: str = ""
    """The claim in a few words, for the top of the page; empty for what never stands there."""
    listing: Listing | None = None  # the claim in parts, where it has a value for each system

    @classmethod
    def of_each(cls, topic: str, listing: Listing, test: str) -> Self:
        """Return a finding that tells a value of each system."""
        return cls(topic, str(listing), test, listing=listing)

    def on(self, part: str) -> "Finding":
        """Return the finding, said of one of several test sets."""
        return Finding(
            self.topic, f"On {part}: {self.claim[:1].lower()}{self.claim[1:]}", self.test
        )

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.claim} ({self.test})"


def headline(
    groups: Sequence[GroupTests],
    train_limits: Collection[int],
    without_attention: Collection[str] = (),
) -> list[Finding]:
    """Return the findings: the best system, BLEU against length, curves that cross.

    Of several test sets, each has the finding about its best system alone. ``train_limits`` are
    the lengths of the longest training sentences, in words; ``without_attention`` names systems.
    """
    if len(groups) == 1:
        [group] = groups
        lengths = _lengths(group, train_limits, without_attention)
        return [*_best(group), *lengths, *_crossing(group)]
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
        claim = f"{nothing}: {_scored(group, group.ranked)}"
        yield Finding(HIGHEST, claim, group.tested(least), nothing)
        return
    lead = tested[behind[0]]
    if alike:
        yield Finding(
            HIGHEST,
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
        HIGHEST,
        f"{quote(best)} has the highest BLEU on the whole test set, "
        f"{format_estimate(group.bleu(best), 1)}: {size(lead)} more than "
        f"{quote(behind[0])}{next_of}{_without_a_model(group)}",
        group.tested(lead),
        f"{quote(best)} has the highest BLEU",
    )


def ahead_without_a_model(group: GroupTests) -> tuple[str, float] | None:
    """Return the translation without a model that has a higher BLEU than every system, if any."""
    known = ((each, group.evaluation.mean(each, None, BLEU)) for each in group.group.baselines)
    scores = {each.label: bleu for each, bleu in known if bleu is not None}
    label = max(scores, key=lambda each: scores[each], default=None)
    if label is None or scores[label] <= group.bleu(group.ranked[0]).value:
        return None
    return label, scores[label]


def _without_a_model(group: GroupTests) -> str:
    ahead = ahead_without_a_model(group)
    return f"; the {ahead[0]}, without a model, has {format_number(ahead[1], 1)}" if ahead else ""


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


def _lengths(
    group: GroupTests, train_limits: Collection[int], without_attention: Collection[str]
) -> Iterator[Finding]:
    """Say how BLEU of two systems, of which one keeps a larger share, changes with length.

    Without a real trend: from which lengths on the best system is ahead of the last.
    """
    if group.trend is None:
        ahead, behind = group.ranked[0], group.ranked[-1]
        if leading := _leading(group, ahead, behind):
            test = f"{group.tested(*(each for _, each in leading))} in each length group"
            yield Finding(BY_LENGTH, _ahead(group, ahead, behind, leading), test)
        return
    gaining, losing = group.contest
    first, last = group.bounds[0], group.bounds[-1]
    leading = _leading(group, gaining, losing)
    test = _tested_contest(group, group.trend)
    in_words_of_source = group.evaluation.scoring.unit.endswith("words")
    beyond = bool(train_limits) and in_words_of_source and last.low > max(train_limits)
    note = f" (training sentences have at most {max(train_limits)})" if beyond else ""
    claim = (
        f"From {first.label} to {group.named(last)}{note}, BLEU of {quote(losing)} "
        f"{_change(group, losing)}; BLEU of {quote(gaining)} {_change(group, gaining)}"
    )
    if not leading:
        yield Finding(BY_LENGTH, claim, test)
        return
    lead = _ahead(group, gaining, losing, leading)
    test += f"; each length group: {group.tested(*(each for _, each in leading))}"
    plain = [each for each in group.ranked if each.name in without_attention]
    over = f"From {first.label} to {group.named(last)}"
    found = _falls_with_attention(group, plain[0], over, note) if len(plain) == 1 else None
    if found and len(group.ranked) > 2:
        yield found
        if not _contest_crosses(group):  # else the crossing tells it
            yield Finding(BY_LENGTH, lead, test)
        return
    yield Finding(
        BY_LENGTH, f"{claim}. {lead}", test, found.short if found else _falls(group, over)
    )


def _crossing(group: GroupTests) -> Iterator[Finding]:
    """Name the system that is ahead of the best one at some lengths, and behind at others."""
    if (found := _crossed(group)) is None:
        return
    best, (other, ahead, behind) = group.ranked[0], found
    test = group.tested(ahead[1], behind[1])
    if group.trend and _contest_crosses(group):
        test = f"{_tested_contest(group, group.trend)}; each length group: {test}"
    yield Finding(
        "Crossing curves",
        f"The curves of {quote(best)} and {quote(other)} cross: {quote(other)} is ahead by "
        f"{size(ahead[1])} at {group.named(ahead[0])}, and behind by {size(behind[1])} at "
        f"{group.named(behind[0])}",
        test,
    )


def _tested_contest(group: GroupTests, trend: Trend) -> str:
    """Return how the two systems of the contest were tested over all lengths."""
    gaining, losing = group.contest
    pairs = math.comb(len(group.group.systems), 2)
    p = p_statement(trend.p_holm, p_floor(group.evaluation.test_draws.count, pairs))
    return (
        f"trend over all lengths: for every ten words more, BLEU of {quote(gaining)} divided by "
        f"that of {quote(losing)} grows by {_percent_more(trend.slope)}, paired bootstrap, {p} "
        f"(Holm, {pairs} {'pair' if pairs == 1 else 'pairs'})"
    )


def _contest_crosses(group: GroupTests) -> bool:
    """Return whether the two systems of the contest are those whose curves cross."""
    found = _crossed(group)
    return found is not None and {group.ranked[0], found[0]} == set(group.contest)


def _crossed(group: GroupTests) -> tuple[System, LengthLead, LengthLead] | None:
    """Return the system whose curve crosses that of the best most, and its two widest leads."""
    best, *others = group.ranked
    found = [
        (other, most_ahead, most_behind)
        for other in others
        if (by_length := group.by_length(other, best))
        and leads((most_ahead := max(by_length, key=_value))[1])
        and differ((most_behind := min(by_length, key=_value))[1])
        and _value(most_behind) < 0
    ]
    return max(found, key=lambda each: _value(each[1]) - _value(each[2]), default=None)


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


def _falls(group: GroupTests, over: str) -> str:
    """Return the share of BLEU that systems lose up to the longest group, without intervals.

    The largest first; of many systems, those of ``group.contest``.
    """
    systems = group.ranked if len(group.ranked) <= COMPARED else group.contest
    lost = {each: share for each in systems if (share := _lost(group, each))}
    falls = [f"{lost[each]:.0%} with {quote(each)}" for each in _most_first(lost)]
    others = [quote(each) for each in systems if each not in lost]
    said = [f"BLEU falls by {in_words(falls)}"] if falls else []
    if others:
        said.append(f"{'no fall' if falls else 'no fall of BLEU'} is shown with {in_words(others)}")
    return f"{over}, {'; '.join(said)}"


def _falls_with_attention(group: GroupTests, plain: System, over: str, note: str) -> Finding | None:
    """Say which systems with attention lose a smaller share of BLEU than the one without.

    A system does so if its trend is real too. None if the system without attention loses nothing,
    or if there are more systems than a sentence takes.
    """
    others = [each for each in group.ranked if each != plain]
    of_plain = _lost(group, plain)
    if len(others) >= COMPARED or not of_plain:
        return None
    real = {each.first: each for each in group.real_trends if each.second == plain.name}
    less = [each for each in others if each.name in real and _lost(group, each) < of_plain]
    changes = {quote(each): _change(group, each) for each in (plain, *others)}
    of = (f"that of {name} {change}" for name, change in changes.items())
    claim = f"{over}{note}, BLEU {in_words([*of]).removeprefix('that ')}"
    test = _tested_trends(group, plain, {each: real[each.name] for each in less})
    listing = Listing(f"{over}{note}, BLEU", [*changes.items()])
    return Finding(BY_LENGTH, claim, test, _shares_lost(group, plain, others, less, over), listing)


def _tested_trends(group: GroupTests, plain: System, trends: Mapping[System, Trend]) -> str:
    """Return how systems were tested against the one without attention."""
    pairs = math.comb(len(group.group.systems), 2)
    method = f"paired bootstrap over all lengths, Holm over {pairs} pair{'s'[: pairs != 1]}"
    if not trends:
        return (
            f"no system is shown to keep a larger share of its BLEU than {quote(plain)}: {method}"
        )
    grows = [f"{_percent_more(each.slope)} ({quote(system)})" for system, each in trends.items()]
    floor = p_floor(group.evaluation.test_draws.count, pairs)
    p = p_statement(max(each.p_holm for each in trends.values()), floor)
    clear = {each.first for each in group.real_trends if each.second == plain.name}
    clear |= {each.second for each in group.real_trends if each.first == plain.name}
    rest = [quote(each) for each in group.ranked if each.name not in {plain.name, *clear}]
    unclear = f"; no clear trend for {in_words(rest)}" if rest else ""
    return (
        f"for every ten words more, BLEU divided by that of {quote(plain)} grows by "
        f"{in_words(grows)}: {p}, {method}{unclear}"
    )


def _shares_lost(
    group: GroupTests, plain: System, others: Sequence[System], less: Sequence[System], over: str
) -> str:
    """Return the shares of BLEU that systems lose: the one without attention, and the others."""
    of_plain = _lost(group, plain)
    falling = {each.second for each in group.real_trends if each.first == plain.name}
    more = [each for each in others if each.name in falling and _lost(group, each) > of_plain]
    rest = [each for each in others if each not in (*less, *more)]
    second = group.bounds[1]
    early = 1 - group.bleu(plain, second).value / group.bleu(plain, group.bounds[0]).value
    start, middle, end = (
        format_number(group.bleu(plain, each).value, 1)
        for each in (group.bounds[0], second, group.bounds[-1])
    )
    ends = f"{start} to {end}"
    if early >= of_plain and len(group.bounds) > 2:
        ends += f"; {middle} already at {group.named(second)}"
    told = f"{over}, {quote(plain)} loses {of_plain:.0%} of its BLEU ({ends}). "
    if not less:
        return f"{told}No system with attention is shown to lose less: {_shares(group, others)}"
    every = {1: "The system", 2: "Both"}.get(len(others), f"All {len(others)}")
    who = f"{len(less)} of {len(others)}" if len(less) < len(others) else every
    lose = "loses" if len(others) == 1 else "lose"
    told += f"{who} with attention {lose} less: {_shares(group, less)}"
    if more:
        told += f"; {_shares(group, more)} {'loses' if len(more) == 1 else 'lose'} more"
    return f"{told}; no clear difference for {_shares(group, rest)}" if rest else told


def _shares(group: GroupTests, systems: Sequence[System]) -> str:
    """List systems with the share of BLEU that each loses, the largest first."""
    lost = {each: _lost(group, each) for each in systems}
    return in_words(
        [
            f"{quote(each)} ({lost[each]:.0%})" if lost[each] else f"{quote(each)} (no clear fall)"
            for each in _most_first(lost)
        ]
    )


def _lost(group: GroupTests, system: System) -> float:
    """Return the share of BLEU lost up to the longest group; 0 unless intervals are disjoint."""
    start, end = (group.bleu(system, each) for each in (group.bounds[0], group.bounds[-1]))
    return 1 - end.value / start.value if below(end, start) else 0.0


def _most_first(lost: Mapping[System, float]) -> list[System]:
    return sorted(lost, key=lambda each: -lost[each])
