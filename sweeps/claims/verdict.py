"""Whether a claim held: by its effect's interval over seeds and sentences, and its margin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.resampling import Interval, holm
from sweeps.claims.intervals import Differences, Spread, effect_interval

LEAST_SEEDS = 3
"""Seeds of each system without which nothing is decided: the rule was calibrated from three on."""
LEVEL = 0.05  # largest p-value of a decided verdict
WIDE, NARROW = 1 - LEVEL, 1 - 2 * LEVEL
"""Levels of intervals. Of a claim of an effect, *held* needs the wide one, and *did not hold* the
narrow one; of a claim of no difference, the other way round."""
_BISECTIONS = 25


Says = Literal["larger", "not_smaller", "no_difference"]
"""What a claim says of its effect: larger than 0, at least 0, or 0; each by the margin."""


class Outcome(StrEnum):
    """What a verdict says."""

    HELD = "held"
    FAILED = "did not hold"
    UNDECIDED = "not decidable"


class Margin(NamedTuple):
    """The smallest effect that counts, and what the claim says of its effect."""

    size: float  # above 0, in units of the quantity
    says: Says = "larger"

    @property
    def levels(self) -> tuple[float, float]:
        """Levels of the intervals that show that the claim holds, and that it does not."""
        return (NARROW, WIDE) if self.says == "no_difference" else (WIDE, NARROW)

    @property
    def threshold(self) -> float:
        """The number above which the effect must lie, unless the claim is of no difference."""
        return self.size if self.says == "larger" else -self.size

    def held(self, interval: Interval) -> NDArray[np.bool_]:
        """Return whether an interval, its ends ``(…)``, shows that the claim holds."""
        low, high = map(np.asarray, interval)
        if self.says == "no_difference":
            return (low > -self.size) & (high < self.size)
        return low > self.threshold

    def failed(self, interval: Interval) -> NDArray[np.bool_]:
        """Return whether an interval, its ends ``(…)``, shows that the claim does not hold."""
        low, high = map(np.asarray, interval)
        if self.says == "no_difference":
            return (low > self.size) | (high < -self.size)
        return high < self.threshold


@dataclass(frozen=True)
class Verdict:
    """The verdict on one claim."""

    outcome: Outcome
    effect: float  # in units of the quantity; above 0 in the direction of the claim
    interval: Interval | None
    """95%, over seeds and sentences; None where a system has a single seed."""
    p: float  # at most 0.05 exactly when the verdict is decided; 1 with too few seeds
    seeds: int  # the fewest seeds that a system has


def judge(spread: Spread, differences: Differences, margin: Margin) -> Verdict:
    """Return the verdict on a claim from its own systems alone."""
    effect, seeds = float(differences.effect(spread.means)), int(spread.seeds.min())
    if seeds < LEAST_SEEDS:
        interval = _interval(spread, differences) if seeds > 1 else None
        return Verdict(Outcome.UNDECIDED, effect, interval, 1.0, seeds)
    held, failed = decide(spread, differences, margin)
    outcome = Outcome.HELD if held else Outcome.FAILED if failed else Outcome.UNDECIDED
    interval, p = _interval(spread, differences), _p(spread, differences, margin)
    return Verdict(outcome, effect, interval, p, seeds)


def decide(
    spread: Spread, differences: Differences, margin: Margin
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether a claim held and whether it did not, ``(…)`` each, for three seeds or more.

    Held: the 95% interval lies above the margin. Did not hold: the 90% interval lies below the
    margin. For a claim that the effect is not smaller than 0, minus the margin takes the place of
    the margin (non-inferiority). A claim of no difference holds if the 90% interval lies inside
    (-margin, margin), as two one-sided tests would have it, and does not if the 95% interval lies
    wholly outside.
    """
    first, second = (effect_interval(spread, differences, level) for level in margin.levels)
    return margin.held(first), margin.failed(second)


def correct_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts after Holm's correction over all of them (Holm 1979).

    A verdict that the correction takes back is not decidable. The verdicts themselves stay as they
    are: they do not depend on which others were asked for.
    """
    corrected = zip(verdicts, holm([each.p for each in verdicts]), strict=True)
    return [
        replace(each, p=float(p), outcome=each.outcome if p <= LEVEL else Outcome.UNDECIDED)
        for each, p in corrected
    ]


def _interval(spread: Spread, differences: Differences) -> Interval:
    return Interval(*map(float, effect_interval(spread, differences, WIDE)))


def _p(spread: Spread, differences: Differences, margin: Margin) -> float:
    """Return the smaller p-value of both outcomes; each is at most 0.05 where it is decided."""

    def least(shown: Callable[[Interval], NDArray[np.bool_]], level: float) -> float:
        """Return 1 less the largest level that shows an outcome, as if ``level`` were 95%."""
        low, high = np.log(1e-12), 0.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if shown(effect_interval(spread, differences, 1 - np.exp(middle))):
                high = middle
            else:
                low = middle
        return float(np.exp(high)) * LEVEL / (1 - level) if high < 0 else 1.0

    return min(map(least, (margin.held, margin.failed), margin.levels))
