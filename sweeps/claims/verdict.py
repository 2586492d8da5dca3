"""What a claim's effect shows: by its interval over seeds and sentences, and its margin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.resampling import Interval
from sweeps.claims.intervals import Differences, Spread, effect_interval

LEAST_SEEDS = 3
"""Seeds of each system without which nothing is decided: the rule was calibrated from three on."""
LEVEL = 0.05  # largest p-value of a decided verdict
WIDE, NARROW = 1 - LEVEL, 1 - 2 * LEVEL
"""Levels of intervals. A direction needs the wide one; an effect inside of the margin needs the
narrow one, which makes two one-sided tests at ``LEVEL`` (Schuirmann 1987)."""
_BISECTIONS = 25


Says = Literal["larger", "not_smaller", "no_difference"]
"""What a claim says of its effect: larger than 0, at least 0, or 0; each by the margin."""


class Outcome(StrEnum):
    """What a verdict says."""

    SUPPORTED = "supported"
    REVERSED = "reversed"
    NEGLIGIBLE = "negligible"
    UNDECIDED = "undecided"
    NOT_FAIR = "not a fair test"

    @property
    def decided(self) -> bool:
        """Whether the effect itself decided: only such a verdict can be wrong."""
        return self not in (Outcome.UNDECIDED, Outcome.NOT_FAIR)


Ends = NDArray[np.float64]  # an end of intervals, `(…)`


class _Rule(NamedTuple):
    """The interval that shows an outcome: its level, and where it must lie."""

    outcome: Outcome
    level: float
    shown: Callable[[Ends, Ends], NDArray[np.bool_]]


class Margin(NamedTuple):
    """The smallest effect that counts, and what the claim says of its effect."""

    size: float  # above 0, in units of the quantity
    says: Says = "larger"

    @property
    def rules(self) -> tuple[_Rule, ...]:
        """What shows each outcome; at most one of them is shown."""
        if self.says == "no_difference":
            return (
                _Rule(Outcome.SUPPORTED, NARROW, self._inside),
                _Rule(Outcome.REVERSED, WIDE, self._outside),
            )
        reversal = _Rule(Outcome.REVERSED, WIDE, lambda _, high: high < -self.size)
        if self.says == "not_smaller":
            return (_Rule(Outcome.SUPPORTED, WIDE, lambda low, _: low > -self.size), reversal)
        return (
            _Rule(Outcome.SUPPORTED, WIDE, lambda low, _: low > self.size),
            reversal,
            _Rule(Outcome.NEGLIGIBLE, NARROW, self._inside),
        )

    def _inside(self, low: Ends, high: Ends) -> NDArray[np.bool_]:
        return (low > -self.size) & (high < self.size)

    def _outside(self, low: Ends, high: Ends) -> NDArray[np.bool_]:
        return (low > self.size) | (high < -self.size)


@dataclass(frozen=True)
class Verdict:
    """The verdict on one claim, on one corpus and at one amount of training."""

    outcome: Outcome
    effect: float  # in units of the quantity; above 0 in the direction of the claim
    interval: Interval | None
    """95%, over seeds and sentences; None where a system has a single seed."""
    p: float  # at most 0.05 exactly when the effect decides; 1 with too few seeds
    seeds: int  # the fewest seeds that a system has
    reason: str | None = None  # why nothing is decided: the gate that failed, with its numbers

    def without(self, outcome: Outcome, reason: str) -> Self:
        """Return the same effect where a gate leaves it undecided, or the test is not fair."""
        return replace(self, outcome=outcome, p=1.0, reason=reason)


def judge(spread: Spread, differences: Differences, margin: Margin) -> Verdict:
    """Return the verdict on a claim from its own systems alone, before any gate."""
    effect, seeds = float(differences.effect(spread.means)), int(spread.seeds.min())
    if seeds < LEAST_SEEDS:
        interval = _interval(spread, differences) if seeds > 1 else None
        why = f"{seeds} seed{'s'[: seeds > 1]} of a system; {LEAST_SEEDS} are needed"
        return Verdict(Outcome.UNDECIDED, effect, interval, 1.0, seeds, why)
    shown = decide(spread, differences, margin)
    outcome = next((each for each, is_so in shown.items() if is_so), Outcome.UNDECIDED)
    interval, p = _interval(spread, differences), _p(spread, differences, margin)
    return Verdict(outcome, effect, interval, p, seeds)


def decide(
    spread: Spread, differences: Differences, margin: Margin, level: float = LEVEL
) -> Mapping[Outcome, NDArray[np.bool_]]:
    """Return whether each outcome is shown, ``(…)`` each, for three seeds or more.

    Supported: the 95% interval lies above the margin. Reversed: it lies below minus the margin.
    Negligible: the 90% interval lies inside (-margin, margin). A claim that the effect is not
    smaller than 0 is supported above minus the margin (non-inferiority). A claim of no difference
    is supported inside of the margin, and reversed if the 95% interval lies wholly outside.
    ``level`` is the largest p-value of a decided verdict, such as that of a step of Holm's.
    """
    return {
        rule.outcome: rule.shown(*_ends(spread, differences, 1 - (1 - rule.level) * level / LEVEL))
        for rule in margin.rules
    }


def _ends(spread: Spread, differences: Differences, level: float) -> tuple[Ends, Ends]:
    low, high = map(np.asarray, effect_interval(spread, differences, level))
    return low, high


def _interval(spread: Spread, differences: Differences) -> Interval:
    return Interval(*map(float, effect_interval(spread, differences, WIDE)))


def _p(spread: Spread, differences: Differences, margin: Margin) -> float:
    """Return the smallest p-value of the outcomes; each is at most 0.05 where it is shown."""

    def least(rule: _Rule) -> float:
        """Return 1 less the largest level that shows an outcome, as if the rule's were 95%."""
        low, high = np.log(1e-12), 0.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if rule.shown(*_ends(spread, differences, 1 - np.exp(middle))):
                high = middle
            else:
                low = middle
        return float(np.exp(high)) * LEVEL / (1 - rule.level) if high < 0 else 1.0

    return min(map(least, margin.rules))
