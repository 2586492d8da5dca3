"""How losses and the effect of a claim move over a ladder of training amounts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lightning_modules.metrics.resampling import Interval


class Extrapolation(NamedTuple):
    """The limit of L(B) = L∞ + a·B^-b as B grows, with its 95% interval over seeds."""

    limit: float
    interval: Interval | None  # by a bootstrap over seeds; None for fewer than three


class HeldOut(NamedTuple):
    """The last rung as the law foretells it from the rungs before, and as it came out."""

    foretold: float
    interval: Interval | None
    seen: float


@dataclass(frozen=True)
class Trajectory:
    """The way of a claim over its ladder, on one corpus."""

    amounts: Sequence[float]  # of the rungs, rising, in units of the budget
    effects: Sequence[float]  # at each rung
    falls: Mapping[str, float]
    """Share by which the mean validation loss of each system fell with the last doubling."""
    change: float | None  # of the effect over the last two doublings; None for a shorter ladder
    change_interval: Interval | None  # 90%, over seeds
    converged: bool
    crosses: float | None  # amount at which the effect last crosses 0; None if it does not
    losses: Mapping[str, Extrapolation]  # limit of each system's validation loss
    effect: Extrapolation | None  # limit of the effect; None for fewer than three rungs
    held_out: HeldOut | None  # test of the effect's law; None for fewer than four rungs
    held_out_losses: Mapping[str, HeldOut]  # test of each loss's law on the last rung
    sentence: str  # the way in words, such as `rises from -8 to +4, crosses 0 near 0.6 M`
