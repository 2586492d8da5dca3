"""What a search is expected to find, by the number of its trials."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.statistics import Array


class Expected(NamedTuple):
    """The best of n draws, for n = 1 … N, in as many entries."""

    value: Array
    deviation: Array
    """Standard deviation of that best."""
    low: Array
    high: Array
    """One deviation either way, but not beyond the values that were found."""


def expected_best(values: Sequence[float], largest: bool = True) -> Expected:
    """Expect the best of n draws from N values, as Dodge et al. (2019) do.

    Draws are with replacement from what was found: the best of n is at most v with probability
    F(v)ⁿ, where F is the share of the N values that are at most v. With ``largest=False`` the
    lowest value is the best. Raises ``ValueError`` without values.
    """
    if not len(values):
        raise ValueError("there is nothing to draw from")
    if not largest:
        value, deviation, low, high = expected_best([-each for each in values])
        return Expected(-value, deviation, -high, -low)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    draws = np.arange(1, count + 1)[:, None]
    # Equal values share their mass in any way they like: sums over them are the same.
    mass = np.diff((np.arange(count + 1) / count) ** draws, axis=1)
    value = mass @ ordered
    deviation = np.sqrt((mass * (ordered - value[:, None]) ** 2).sum(axis=1))
    low, high = (np.clip(value + d, ordered[0], ordered[-1]) for d in (-deviation, deviation))
    return Expected(value, deviation, low, high)
