"""What trainings tell of the systems: how much they make of the source, and what more would do."""

from collections.abc import Iterator
from math import hypot
from statistics import mean
from typing import Literal, NamedTuple

from lightning_modules.metrics.systems import System
from lightning_modules.runs.schema import ERRORS
from sweeps.comparison.collect import Comparison
from sweeps.comparison.numbers import in_words
from sweeps.report.group_tests import quote
from sweeps.report.headline import Finding

LISTED = 5  # most systems of which a sentence tells the share
LITTLE = 0.7  # of the next system's share, up to which a system makes little use of the source


class Share(NamedTuple):
    """A share of the validation loss, and its standard error over sentences; means over seeds."""

    value: float
    error: float


def learning_findings(comparison: Comparison, best: System) -> Iterator[Finding]:
    """Say how much each system makes of the source, and what the last doubling brought.

    ``best`` is the system with the highest BLEU. Nothing for systems that did not record it.
    """
    gains, falls = (_shares(comparison, key) for key in ("source_gain", "fall"))
    if best in gains and len(gains) > 1:
        yield Finding(
            "Use of the source",
            "With its own source instead of another sentence's, the validation loss is lower by "
            f"{_listed(gains, best)}. A system that gains little hardly uses the source",
            _how(gains),
        )
    if best in falls and len(falls) > 1:
        yield Finding(
            "More training",
            "With the last doubling of the budget, the validation loss fell by "
            f"{_listed(falls, best)}. {_outlook(falls, best)}",
            _how(falls),
        )


def little_use(comparison: Comparison) -> str | None:
    """Say that one system makes much less of the source than all others; None where none does."""
    gains = _shares(comparison, "source_gain")
    if len(gains) < 2:
        return None
    *others, next_to_least, least = gains
    if gains[least].value > LITTLE * gains[next_to_least].value:
        return None
    rest = dict.fromkeys(f"{gains[each].value:.0%}" for each in (next_to_least, *others[:1]))
    return (
        f"A clue to why: {quote(least)} makes little use of the source, which takes "
        f"{gains[least].value:.0%} off its loss (the others: {' to '.join(rest)})."
    )


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


def _listed(shares: dict[System, Share], best: System) -> str:
    """List the shares; of many systems, the largest, the best system's and the smallest."""
    systems = list(shares)
    if len(systems) > LISTED:
        systems = [each for each in systems if each in (systems[0], best, systems[-1])]
    return in_words([f"{shares[each].value:.0%} ({quote(each)})" for each in systems])


def _outlook(falls: dict[System, Share], best: System) -> str:
    """Say whether the loss of another system fell faster than that of the best."""
    own = falls[best]
    faster = [
        quote(each)
        for each, fall in falls.items()
        if fall.value - own.value > ERRORS * hypot(fall.error, own.error)
    ]
    if not faster:
        return f"No other system learned faster at the end than {quote(best)}, the best"
    who = in_words(faster) if len(faster) <= LISTED else f"{len(faster)} systems"
    return f"{who} learned faster at the end than {quote(best)}, the best: the order may change"


def _how(shares: dict[System, Share]) -> str:
    most = max(share.error for share in shares.values())
    return f"no test: standard errors over sentences of at most {most:.1%}"
