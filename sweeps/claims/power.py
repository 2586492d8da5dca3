"""How probably a plan decides a claim, and how many seeds or sentences would.

A plan is tried out: its seeds are simulated many times and judged by the rule itself. What is known
of the variance between seeds comes from few seeds, so that each simulation draws a variance that
would explain those seeds. A plan from a small pilot is thereby larger than one from a known
variance.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.metric import Array
from sweeps.claims.intervals import Differences, Spread
from sweeps.claims.verdict import LEAST_SEEDS, Margin, decide

PROMISE = 0.8  # probability with which promised seeds or sentences decide
MOST_SEEDS = 100
MOST_TIMES = 100  # largest multiples of the seen test set that are asked for
SIMULATIONS = 2000
_LEAST_SHARE = PROMISE + 0.02
"""Share of the simulations that must be decided: the promise and two standard errors."""
_SEED = 0


class Requirement(NamedTuple):
    """What would decide a claim, if its true effect is the effect that was seen."""

    seeds: int | None  # seeds of each system on the same test set; None if 100 would not do
    sentences: int | None
    """Test sentences with the same seeds; None if 100 times as many would not do."""

    def text(self) -> str:
        """Return a clause in words."""
        ways = [f"{self.seeds} seeds of each system"] if self.seeds else []
        ways += [f"{self.sentences:,} test sentences"] if self.sentences else []
        if not ways:
            return f"neither {MOST_SEEDS} seeds nor {MOST_TIMES} times the sentences would decide"
        return f"{' or '.join(ways)} would decide"


def power(
    spread: Spread, differences: Differences, margin: Margin, seeds: int, times: float = 1.0
) -> float:
    """Return the probability that a plan decides a claim, in either direction.

    ``spread`` has the means that are taken for the truth, and what was seen of their variances with
    ``spread.seeds`` seeds, two or more; for a known variance, give many. The plan has two
    ``seeds`` or more of each system, and ``times`` the sentences of ``spread``.
    """
    held, failed = decide(simulate(spread, seeds, times), differences, margin)
    return float(np.mean(held | failed))


def simulate(spread: Spread, seeds: int, times: float = 1.0) -> Spread:
    """Return what a plan would see in ``SIMULATIONS`` repetitions, as ``power`` takes it."""
    generator = np.random.default_rng(_SEED)
    shape = (SIMULATIONS, len(spread.means))
    known = spread.seeds - 1
    seen = spread.between_seeds * known / generator.chisquare(known, shape)
    both, sentences = spread.both / times, spread.sentences / times
    between = (seen - spread.both).clip(0) + both
    shared = generator.multivariate_normal(
        spread.means, _nearest_covariance(sentences), SIMULATIONS, method="eigh"
    )
    return Spread(
        means=shared + generator.normal(size=shape) * np.sqrt(between / seeds),
        seeds=np.full(shape[1], seeds),
        between_seeds=between * generator.chisquare(seeds - 1, shape) / (seeds - 1),
        both=both,
        sentences=sentences,
    )


def _nearest_covariance(covariance: Array) -> Array:
    # An estimate from few seeds may be no covariance.
    variances, directions = np.linalg.eigh(covariance)
    possible: Array = (directions * variances.clip(0)) @ directions.T
    return possible


def find_requirement(
    spread: Spread, differences: Differences, margin: Margin, sentences: int
) -> Requirement:
    """Return how many seeds alone, or sentences alone, would decide a claim in 80% of repetitions.

    ``sentences`` is the number of test sentences of ``spread``. With too few seeds to see a
    variance, the answer is the least number of seeds.
    """
    fewest = int(spread.seeds.min())
    if fewest < LEAST_SEEDS:
        return Requirement(LEAST_SEEDS, None)
    seeds = find_seeds(spread, differences, margin)
    more = _smallest(
        lambda count: power(spread, differences, margin, fewest, count / sentences),
        sentences,
        MOST_TIMES * sentences,
    )
    return Requirement(seeds, more)


def find_seeds(spread: Spread, differences: Differences, margin: Margin) -> int | None:
    """Return the fewest seeds that decide a claim in 80% of repetitions; None if 100 do not."""
    return _smallest(
        lambda count: power(spread, differences, margin, count), LEAST_SEEDS, MOST_SEEDS
    )


def _smallest(power_of: Callable[[int], float], least: int, most: int) -> int | None:
    """Return the smallest number that keeps the promise, to within 2% of it, or None."""
    if power_of(least) >= _LEAST_SHARE:
        return least
    if power_of(most) < _LEAST_SHARE:
        return None
    while most - least > max(1, least // 50):
        middle = round(np.sqrt(least * most)) if most > 2 * least else (least + most) // 2
        if power_of(middle) >= _LEAST_SHARE:
            most = middle
        else:
            least = middle
    return most
