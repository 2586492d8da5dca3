"""The probability of the end of a sentence, by the distance from the end of its reference."""

from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.metric import Array, FormulaMetric

COUNTS = "eos"
"""Name of the statistics: the sum of probabilities of EOS in each group of positions, then the
number of positions, ``(sentences, 2 × groups)``."""
BEFORE_END = (0, 1, 2, 4, 8, 16, 32)
"""Groups of positions, by the least number of tokens that the reference still has before EOS."""


def end_counts(nats: Iterable[NDArray[np.float64]]) -> Array:
    """Return the statistics ``COUNTS`` from the negative log-probabilities of EOS.

    Each sentence has those of all positions of its reference, ``(tgt,)``, EOS included.
    """
    return np.array([_by_group(np.exp(-each[::-1])) for each in nats], np.float64)


def _by_group(probabilities: NDArray[np.float64]) -> Array:
    before_end = np.arange(len(probabilities))
    group = np.searchsorted(BEFORE_END, before_end, side="right") - 1
    size = len(BEFORE_END)
    sums = np.bincount(group, probabilities, size)
    return np.concatenate([sums, np.bincount(group, minlength=size)])


def _percent(group: int, sums: Array) -> Array:
    positions = sums[..., len(BEFORE_END) + group]
    unknown = np.full(positions.shape, np.nan)
    return 100 * np.divide(sums[..., group], positions, where=positions > 0, out=unknown)


def _name(low: int, after: int | None) -> str:
    if after is None:
        return f"{low}+"
    return f"{low}" if after == low + 1 else f"{low}–{after - 1}"


ENDS = tuple(
    FormulaMetric(
        name=f"eos_{low}",
        label=_name(low, after),
        better=1 if low == 0 else -1,
        counts=COUNTS,
        formula=partial(_percent, group),
        decimals=2,
    )
    for group, (low, after) in enumerate(zip(BEFORE_END, (*BEFORE_END[1:], None), strict=True))
)
"""Mean probability of EOS in percent, for each group of positions, nearest to the end first."""
