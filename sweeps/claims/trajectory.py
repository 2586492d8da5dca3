"""How losses and the effect of a claim move over a ladder of training amounts, and where to.

The limits are extrapolations: of L(B) = L∞ + a·B^-b, the form that losses take over amounts of
data (Gordon, Duh and Kaplan 2021, EMNLP 2021.emnlp-main.478), with a bootstrap over seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.schema import STILL_FALLS
from sweeps.claims.intervals import Differences, Spread, SystemValues, combine, widest_interval
from sweeps.claims.verdict import LEAST_SEEDS, NARROW, Margin
from sweeps.comparison.numbers import format_number, format_size

EXPONENTS = np.geomspace(0.1, 2, 60)
"""Exponents b that are tried. Smaller ones are hardly told from a logarithm, which has no limit."""
LEAST_POINTS = 3  # of a curve, as many as the law has parameters
OF_CURVE = 1 / 16
"""Share of the last amount from which on a loss is fitted: the first updates follow no law."""
RESAMPLES = 1000


class HeldOut(NamedTuple):
    """The last point as the law foretells it from the points up to the last rung but one."""

    foretold: float
    interval: Interval | None  # 95%, over seeds
    seen: float

    @property
    def failed(self) -> bool:
        """Whether what was seen lies outside of the interval, so that the law says nothing."""
        return (
            self.interval is not None and not self.interval.low <= self.seen <= self.interval.high
        )


class Extrapolation(NamedTuple):
    """The limit of L(B) = L∞ + a·B^-b as B grows."""

    limit: float
    interval: Interval | None  # 95%, by a bootstrap over seeds; None for fewer than three
    held_out: HeldOut | None  # the test of the law; None where too few points come before


@dataclass(frozen=True)
class Trajectory:
    """The way of a claim over its ladder, on one corpus."""

    amounts: Sequence[float]  # of the rungs, rising, in units of the budget
    effects: Sequence[float]  # at each rung
    falls: Mapping[str, float]
    """Share by which the mean validation loss of each system fell with the last doubling; NaN where
    a loss was not measured, and empty for a ladder without a doubling."""
    change: float | None  # of the effect over the last two doublings; None for a shorter ladder
    change_interval: Interval | None  # 90%, over seeds; None for a shorter ladder or few seeds
    why_not_converged: str | None  # None for a converged trajectory
    losses: Mapping[str, Extrapolation]  # of each system's validation loss
    effect: Extrapolation | None  # None for fewer than three rungs

    @property
    def converged(self) -> bool:
        """Whether losses and effect have come to rest."""
        return self.why_not_converged is None

    @property
    def crosses(self) -> float | None:
        """The amount at which the effect last crosses 0; None if it does not."""
        steps = zip(pairwise(self.amounts), pairwise(self.effects), strict=True)
        for (low, high), (before, after) in [*steps][::-1]:
            if before * after < 0:
                way = before / (before - after)
                return float(low * (high / low) ** way)
        return None

    @property
    def shown(self) -> list[str]:
        """The effects as a reader gets them."""
        decimals = 1 if max(map(abs, self.effects)) >= 1 else 2
        return [format_number(each, decimals, signed=True) for each in self.effects]

    @property
    def sentence(self) -> str:
        """The way in words, such as ``rises from −8.1 to +4.0, crosses 0 near 612 k``."""
        first, last = self.shown[0], self.shown[-1]
        if len(self.effects) == 1 or first == last:
            return f"is {last}" if len(self.effects) == 1 else f"ends as it began, at {last}"
        rises = self.effects[-1] > self.effects[0]
        said = f"{'rises' if rises else 'falls'} from {first} to {last}"
        crosses = self.crosses
        return said if crosses is None else f"{said}, crosses 0 near {format_size(crosses)}"


class Ladder(NamedTuple):
    """What was seen of a claim at each rung; seeds stand in one order throughout."""

    amounts: Sequence[float]  # rising
    values: Sequence[Sequence[SystemValues]]  # of what `differences` compare, at each rung
    differences: Differences
    losses: Mapping[str, Array]  # validation losses of each system, `(rungs, seeds)`
    curves: Mapping[str, Sequence[Array]]
    """Learning curve of each seed of a system: amounts and losses, ``(2, points)`` each."""


def follow(ladder: Ladder, margin: Margin) -> Trajectory:
    """Return the way of a claim over its ladder.

    It has converged if the mean validation loss of each system fell by less than 2% with the last
    doubling, and the 90% interval of the change of the effect over the last two doublings lies
    inside half of the margin.
    """
    amounts, last = ladder.amounts, ladder.values[-1]
    means = [np.array([each.observed.mean() for each in rung]) for rung in ladder.values]
    one, two = (_before(amounts, doublings) for doublings in (1, 2))
    falls = {} if one is None else {key: _fall(of, one) for key, of in ladder.losses.items()}
    change, interval = None, None
    if two is not None:
        pairs = zip(last, ladder.values[two], strict=True)
        spread = Spread.of([combine(pair, np.array([1.0, -1.0])) for pair in pairs])
        moved = Differences(ladder.differences.weights)  # a change has no number to lie above
        change = float(ladder.differences.effect(means[-1]) - ladder.differences.effect(means[two]))
        if spread.seeds.min() >= LEAST_SEEDS:
            interval = Interval(*map(float, widest_interval(spread, moved, NARROW)))
    return Trajectory(
        amounts=amounts,
        effects=[float(ladder.differences.effect(each)) for each in means],
        falls=falls,
        change=change,
        change_interval=interval,
        why_not_converged=_why_not(falls, change, interval, margin),
        losses={
            system: _limit_of_losses(curves, amounts)
            for system, curves in ladder.curves.items()
            if min(_late(curve, amounts[-1]).shape[1] for curve in curves) >= LEAST_POINTS
        },
        effect=_limit_of_effect(ladder) if len(amounts) >= LEAST_POINTS else None,
    )


def _before(amounts: Sequence[float], doublings: int) -> int | None:
    """Return the rung from which to the last are so many doublings or a few more."""
    found = [place for place, each in enumerate(amounts) if each * 2**doublings <= amounts[-1]]
    return found[-1] if found else None


def _fall(losses: Array, since: int) -> float:
    return float(1 - losses[-1].mean() / losses[since].mean())


def _why_not(
    falls: Mapping[str, float], change: float | None, interval: Interval | None, margin: Margin
) -> str | None:
    if not falls or change is None:
        return "two doublings of the budget are needed to see whether the effect has settled"
    for system, fall in falls.items():
        if np.isnan(fall):
            return f"no validation loss of “{system}” was measured"
        if fall >= STILL_FALLS:
            return (
                f"“{system}” was still learning when training ended, so the effect may still "
                f"change; its validation loss fell by {fall:.1%} with the last doubling of the "
                "budget"
            )
    if interval is None:
        return f"fewer than {LEAST_SEEDS} seeds do not show whether the effect has settled"
    if not -margin.size / 2 < interval.low <= interval.high < margin.size / 2:
        decimals = 1 if margin.size >= 1 else 2
        shown = [format_number(each, decimals, signed=True) for each in (change, *interval)]
        return (
            "the effect may not have settled when training ended; it moved by "
            f"{shown[0]} [{shown[1]}, {shown[2]}] over the last two doublings of the budget"
        )
    return None


class _Law(NamedTuple):
    """L(B) = ``limit`` + ``scale``·B^-``exponent``, ``(…)`` each."""

    limit: Array
    scale: Array
    exponent: Array

    def at(self, amount: float) -> Array:
        return np.asarray(self.limit + self.scale * amount**-self.exponent)


def fit_law(amounts: Array, values: Array, least: float = -np.inf) -> _Law:
    """Fit L(B) = L∞ + a·B^-b by least squares: ``values`` are ``(…, points)``.

    For a given exponent the law is linear, so that each of ``EXPONENTS`` is solved and the best is
    taken, with L∞ at ``least``.
    """
    powers = amounts ** -EXPONENTS[:, None]  # (exponents, points)
    centred = powers - powers.mean(1, keepdims=True)
    around = values - values.mean(-1, keepdims=True)
    scale = around @ centred.T / np.square(centred).sum(1)  # (…, exponents)
    limit = values.mean(-1)[..., None] - scale * powers.mean(1)
    missed = np.square(around).sum(-1)[..., None] - scale**2 * np.square(centred).sum(1)
    best = np.where(limit >= least, missed, np.inf).argmin(-1)[..., None]
    of_best = [np.take_along_axis(each, best, -1)[..., 0] for each in (limit, scale)]
    return _Law(of_best[0], of_best[1], EXPONENTS[best[..., 0]])


def _late(curve: Array, end: float) -> Array:
    """Return the points of a learning curve, ``(2, points)``, that a law up to ``end`` fits."""
    return curve[:, (curve[0] >= OF_CURVE * end) & (curve[0] <= 1.0001 * end)]


def _limit_of_losses(curves: Sequence[Array], amounts: Sequence[float]) -> Extrapolation:
    """Return the limit of a system's loss: the mean of those of its seeds, a law for each."""

    def fit(end: float) -> list[_Law]:
        late = [_late(curve, end) for curve in curves]
        return [fit_law(points[0], points[1], least=0.0) for points in late]

    limits = np.array([law.limit for law in fit(amounts[-1])])
    held_out = None
    before = amounts[-2] if len(amounts) > 1 else 0.0
    if min(_late(curve, before).shape[1] for curve in curves) >= LEAST_POINTS:
        foretold = np.array([law.at(amounts[-1]) for law in fit(before)])
        seen = float(np.mean([curve[1, -1] for curve in curves]))
        held_out = HeldOut(float(foretold.mean()), _middle(_resampled([foretold])[:, 0]), seen)
    return Extrapolation(float(limits.mean()), _middle(_resampled([limits])[:, 0]), held_out)


def _limit_of_effect(ladder: Ladder) -> Extrapolation:
    amounts, differences = np.array(ladder.amounts), ladder.differences
    of_systems = [
        np.stack([rung[system].observed for rung in ladder.values], axis=1)  # (seeds, rungs)
        for system in range(len(ladder.values[0]))
    ]
    means = np.stack([each.mean(0) for each in of_systems], axis=-1)  # (rungs, systems)
    seen = differences.effect(means)
    drawn = differences.effect(np.moveaxis(_resampled(of_systems), 1, -1))  # (resamples, rungs)
    held_out = None
    if len(amounts) > LEAST_POINTS:
        laws = [fit_law(amounts[:-1], each[..., :-1]) for each in (seen, drawn)]
        foretold, of_drawn = (law.at(amounts[-1]) for law in laws)
        held_out = HeldOut(float(foretold), _middle(of_drawn), float(seen[-1]))
    limits = fit_law(amounts, drawn).limit
    return Extrapolation(float(fit_law(amounts, seen).limit), _middle(limits), held_out)


def _resampled(of_systems: Sequence[Array]) -> Array:
    """Return means over seeds that are drawn with replacement: ``(resamples, systems, …)``.

    ``of_systems`` are ``(seeds, …)``. Changes are stretched by √(n / (n - 1)), as in
    ``mean_over_seeds``; a single seed gives NaN.
    """
    generator = np.random.default_rng(0)
    found = []
    for values in of_systems:
        seeds, mean = len(values), values.mean(0)
        drawn = values[generator.integers(seeds, size=(RESAMPLES, seeds))].mean(1)
        stretch = np.sqrt(seeds / (seeds - 1)) if seeds >= LEAST_SEEDS else np.nan
        found.append(mean + (drawn - mean) * stretch)
    return np.stack(found, axis=1)


def _middle(drawn: Array) -> Interval | None:
    if np.isnan(drawn).any():
        return None
    return Interval(*map(float, np.quantile(drawn, (0.025, 0.975))))
