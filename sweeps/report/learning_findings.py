"""What training shows: how much systems use the source, and whether more training would help."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import hypot
from statistics import mean
from typing import Literal, NamedTuple

from lightning_modules.metrics.systems import System
from lightning_modules.runs.schema import ERRORS
from lightning_modules.runs.settings import key_of, value_of
from sweeps.comparison.collect import Comparison
from sweeps.comparison.numbers import format_duration, format_number, in_words
from sweeps.comparison.significance_tables import differ
from sweeps.report.costs import training_seconds
from sweeps.report.group_tests import WHOLE, GroupTests, quote
from sweeps.report.headline import Finding, Listing

MOST_SHARES = 5  # most systems of which a sentence tells the share
SEEDS = ("1", "2", "3")  # that a comparison of one seed should have
LITTLE = 0.5  # of the next system's share, up to which a system uses its source much less


class Share(NamedTuple):
    """A share of the validation loss, and its standard error over sentences; means over seeds."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{format_number(100 * self.value, 0)}%"

    def exceeds(self, other: "Share") -> bool:
        """Return whether a share is larger beyond the errors of both."""
        return self.value - other.value > ERRORS * hypot(self.error, other.error)


def learning_findings(comparison: Comparison, best: System) -> Iterator[Finding]:
    """Say how much each system uses the source, and what the last half of the training brought.

    ``best`` is the system with the highest BLEU. Nothing for systems that did not record it.
    """
    gains, falls = (_shares(comparison, key) for key in ("source_gain", "fall"))
    seeds = "means over seeds; " if len(comparison.runs) > len(comparison.by_system) else ""
    if best in gains and len(gains) > 1:
        before = (
            "Given the right source rather than another sentence's, the validation loss is lower by"
        )
        yield Finding.of_each(
            "Use of the source",
            Listing(before, *_listed(gains, best)),
            f"no test: {seeds}{_largest_error(gains)}",
        )
    if best in falls and len(falls) > 1:
        before = "Over the last half of the training, the validation loss fell by"
        values, between = _listed(falls, best)
        if min(fall.value for fall in falls.values()) < 0:  # a loss has risen
            before = before.replace("fell", "changed")
            changes = {each: Share(-fall.value, fall.error) for each, fall in falls.items()}
            values, between = _listed(changes, best, signed=True)
        after = ". ".join(part for part in (between, _outlook(falls, best)) if part)
        yield Finding.of_each(
            "More training",
            Listing(before, values, after),
            f"no test: {seeds}{_largest_error(falls)}",
        )


def little_use(comparison: Comparison, group: GroupTests) -> str | None:
    """Say that the system with the lowest BLEU uses its source much less than all others.

    None unless its BLEU is shown to be lower than the highest, and its share of the loss is at most
    ``LITTLE`` of any other's, beyond the errors.
    """
    gains = _shares(comparison, "source_gain")
    best, last = group.ranked[0], group.ranked[-1]
    lead = group.test(best, last, WHOLE)
    if len(gains) < 2 or [*gains][-1] != last or lead is None or not differ(lead):
        return None
    least, *others = [*gains.values()][::-1]
    if not others[0].exceeds(least) or least.value > LITTLE * others[0].value:
        return None
    rest = " to ".join(dict.fromkeys(map(str, (others[0], others[-1]))))
    whose = "the others" if len(others) > 1 else quote(next(iter(gains)))
    return (
        f"A clue to why: {quote(last)} uses its source less. Given the right source rather than "
        f"another sentence's, its loss is {least} lower (with {whose} {rest})."
    )


class NextStep(NamedTuple):
    """What to train next, so that the findings are surer."""

    command: str  # or the overrides alone, where no command is known that trains
    seconds: float  # of training, as long as it has taken so far; 0 if not recorded

    def __str__(self) -> str:
        """Return both in one line."""
        time = f" (about {format_duration(self.seconds)} of training)" if self.seconds else ""
        return f"To be surer: {self.command}{time}"


def next_step(
    comparison: Comparison, command: str | None, longer: str, one_seed: bool
) -> NextStep | None:
    """Return the command with twice the budget, with more seeds, or with both; None without either.

    ``longer`` is the override with twice the budget, empty where that does not help; ``one_seed``
    says that a system has one seed.
    """
    changes = {key_of(longer): longer} if longer else {}
    if one_seed:
        changes["seed"] = f"seed={','.join(SEEDS)}"
    if not changes:
        return None
    words = shlex.split(command or "")
    if any(key_of(word) == "task" and value_of(word) != "train" for word in words):
        words = []  # it trains nothing
    kept = [word for word in words if key_of(word) not in changes]
    seconds = sum(training_seconds(run.result for run in comparison.runs).values())
    more = (2 if longer else 1) * (len(SEEDS) if one_seed else 1)  # at most: other seeds may exist
    return NextStep(shlex.join([*kept, *changes.values()]), more * seconds)


def _shares(comparison: Comparison, key: Literal["source_gain", "fall"]) -> dict[System, Share]:
    """Return a share of each system of which every run has recorded it, the largest first."""
    found: dict[System, Share] = {}
    for system, runs in comparison.by_system.items():
        ends = [run.result.training.convergence for run in runs]
        values = [getattr(end, key) for end in ends]
        errors = [getattr(end, f"{key}_error") for end in ends]
        if None not in (*values, *errors):
            found[system] = Share(mean(values), mean(errors))
    return dict(sorted(found.items(), key=lambda each: -each[1].value))


def _listed(
    shares: Mapping[System, Share], best: System, signed: bool = False
) -> tuple[Sequence[tuple[str, str]], str]:
    """Return the shares by system, ``signed`` with a plus, and how many are left out.

    Of many systems, it is the largest share, the best system's and the smallest.
    """
    systems = list(shares)
    if len(systems) > MOST_SHARES:
        systems = [each for each in systems if each in (systems[0], best, systems[-1])]
    between = len(shares) - len(systems)
    left = f"{between} more lie between" if between else ""
    percents = {each: format_number(100 * shares[each].value, 0, signed=signed) for each in systems}
    return [(quote(each), f"{percents[each]}%") for each in systems], left


def _outlook(falls: Mapping[System, Share], best: System) -> str:
    """Say whether the loss of another system fell faster than that of the best."""
    faster = [quote(each) for each, fall in falls.items() if fall.exceeds(falls[best])]
    the_best = f"{quote(best)}, which has the highest BLEU"
    rests = [Share(0.0, 0.0), *(fall for each, fall in falls.items() if each != best)]
    if all(falls[best].exceeds(rest) for rest in rests):
        return f"{the_best}, also learned fastest at the end"
    if not faster:
        return f"No other system clearly learned faster at the end than {the_best}"
    who = in_words(faster) if len(faster) <= MOST_SHARES else f"{len(faster)} systems"
    return f"{who} learned faster at the end than {the_best}: the order may change"


def _largest_error(shares: Mapping[System, Share]) -> str:
    most = max(share.error for share in shares.values())
    return f"standard errors over sentences of at most {most:.1%}"
