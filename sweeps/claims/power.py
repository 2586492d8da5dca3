"""How probably a plan decides a claim, and with how many seeds.

A plan is tried out: its seeds are simulated many times and judged by the rule itself. What is known
of the variance between seeds comes from few seeds, so that each simulation draws a variance that
would explain those seeds. A plan from a small pilot is thereby larger than one from a known
variance.
"""

import numpy as np

from lightning_modules.metrics.metric import Array
from sweeps.claims.intervals import Differences, Spread
from sweeps.claims.verdict import LEAST_SEEDS, LEVEL, Margin, decide

PROMISE = 0.8  # probability with which promised seeds decide
MOST_SEEDS = 100
SIMULATIONS = 2000
_LEAST_SHARE = PROMISE + 0.02
"""Share of the simulations that must be decided: the promise and two standard errors."""
_SEED = 0


def power(
    spread: Spread, differences: Differences, margin: Margin, seeds: int, level: float = LEVEL
) -> float:
    """Return the probability that a plan decides a claim, with any outcome.

    ``spread`` has the means that are taken for the truth, and what was seen of their variances with
    ``spread.seeds`` seeds, two or more; for a known variance, give many. The plan has two
    ``seeds`` or more of each system. ``level`` is that of ``decide``.
    """
    shown = decide(simulate(spread, seeds), differences, margin, level)
    return float(np.any([*shown.values()], axis=0).mean())


def simulate(spread: Spread, seeds: int) -> Spread:
    """Return what a plan would see in ``SIMULATIONS`` repetitions, as ``power`` takes it."""
    generator = np.random.default_rng(_SEED)
    shape = (SIMULATIONS, len(spread.means))
    known = spread.seeds - 1
    seen = spread.between_seeds * known / generator.chisquare(known, shape)
    between = (seen - spread.both).clip(0) + spread.both
    shared = generator.multivariate_normal(
        spread.means, _nearest_covariance(spread.sentences), SIMULATIONS, method="eigh"
    )
    return Spread(
        means=shared + generator.normal(size=shape) * np.sqrt(between / seeds),
        seeds=np.full(shape[1], seeds),
        between_seeds=between * generator.chisquare(seeds - 1, shape) / (seeds - 1),
        both=spread.both,
        sentences=spread.sentences,
    )


def _nearest_covariance(covariance: Array) -> Array:
    # An estimate from few seeds may be no covariance.
    variances, directions = np.linalg.eigh(covariance)
    possible: Array = (directions * variances.clip(0)) @ directions.T
    return possible


def find_seeds(
    spread: Spread, differences: Differences, margin: Margin, level: float = LEVEL
) -> int | None:
    """Return the fewest seeds that decide a claim in 80% of repetitions; None if 100 do not."""

    def enough(seeds: int) -> bool:
        return power(spread, differences, margin, seeds, level) >= _LEAST_SHARE

    least, most = LEAST_SEEDS, MOST_SEEDS
    if enough(least):
        return least
    if not enough(most):
        return None
    while most - least > 1:
        middle = (least + most) // 2
        if enough(middle):
            most = middle
        else:
            least = middle
    return most
