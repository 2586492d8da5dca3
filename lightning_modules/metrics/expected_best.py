"""Expected best score of a search, by its number of trials."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.metric import Array


class Expected(NamedTuple):
    """Distribution of the best of n draws from N values: arrays with an entry for n = 1 … N."""

    value: Array
    """Mean of the best of n draws."""
    deviation: Array
    """Standard deviation of the best of n draws."""
    low: Array
    high: Array
    """Mean less (``low``) and plus one deviation, but within the smallest and largest value."""


def expected_best(values: Sequence[float], largest: bool = True) -> Expected:
    """Return the expected best of n draws from N ``values``, as Dodge et al. (2019) do.

    Draws are with replacement: the best of n draws is at most v with probability F(v)ⁿ, where F(v)
    is the share of the N values that are at most v. With ``largest=False`` the lowest value is the
    best. Raises ``ValueError`` without values.
    """
    if not len(values):
        raise ValueError("there is nothing to draw from")
    if not largest:
        value, deviation, low, high = expected_best([-each for each in values])
        return Expected(-value, deviation, -high, -low)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    draws = np.arange(1, count + 1)[:, None]
    # How equal values share their probability does not matter: the sums are the same.
    mass = np.diff((np.arange(count + 1) / count) ** draws, axis=1)
    value = mass @ ordered
    deviation = np.sqrt((mass * (ordered - value[:, None]) ** 2).sum(axis=1))
    low, high = (np.clip(value + d, ordered[0], ordered[-1]) for d in (-deviation, deviation))
    return Expected(value, deviation, low, high)
