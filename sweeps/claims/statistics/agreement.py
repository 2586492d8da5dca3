"""Agreement of published values with ours: rank correlation, CV*, and signs of differences.

After QRA++ (Belz 2025, arXiv 2505.17043): single values, sets of values, and findings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import gammaln
from scipy.stats import kendalltau, pearsonr, spearmanr


@dataclass(frozen=True)
class Agreement:
    """How a table of published values agrees with ours."""

    cv: tuple[float | None, ...]
    """CV* of each published value and ours, in percent; 0 for equal values, None for two zeros."""
    pearson: float | None
    spearman: float | None
    kendall: float | None
    """Correlations, -1 to 1; None where all values of a side are equal, or for fewer than three."""
    same_sign: float | None
    """Share of pairs of systems that differ in the published direction; None without such pairs."""


def agreement(published: Sequence[float], ours: Sequence[float]) -> Agreement:
    """Compare a published table with ours, value by value.

    Both must be in one unit and one flavour of a score, and on a scale whose 0 means nothing at
    all. Pairs of systems whose published values are equal have no published direction, and are left
    out of ``same_sign``; of the others, equal values of ours do not agree.

    Raises ``ValueError`` for lists of unequal length.
    """
    if len(published) != len(ours):
        raise ValueError(f"{len(published)} published values for {len(ours)} of ours")
    varied = len(ours) > 2 and len({*published}) > 1 and len({*ours}) > 1
    pearson, spearman, kendall = (
        float(correlation(published, ours).statistic) if varied else None
        for correlation in (pearsonr, spearmanr, kendalltau)
    )
    pairs = [
        np.sign(ours[a] - ours[b]) == np.sign(published[a] - published[b])
        for a, b in combinations(range(len(ours)), 2)
        if published[a] != published[b]
    ]
    return Agreement(
        cv=tuple(
            cv_star(pair) if any(pair) else None for pair in zip(published, ours, strict=True)
        ),
        pearson=pearson,
        spearman=spearman,
        kendall=kendall,
        same_sign=float(np.mean(pairs)) if pairs else None,
    )


def cv_star(values: Sequence[float]) -> float:
    """Return the coefficient of variation of n values in percent, corrected for small n.

    CV* = (1 + 1/(4n)) · s* / |mean| · 100 (Belz, Popović and Mille 2022, arXiv 2204.05961, and
    QRA++). s* is the standard deviation without bias for values of a normal distribution: the
    square root of the unbiased variance, divided by c₄(n) = √(2/(n-1)) Γ(n/2) / Γ((n-1)/2).

    Raises ``ValueError`` for fewer than two values, and for a mean of 0.
    """
    count, mean = len(values), float(np.mean(values))
    if count < 2 or not mean:
        raise ValueError("CV* needs two values or more, with a mean that is not 0")
    c4 = math.sqrt(2 / (count - 1)) * math.exp(gammaln(count / 2) - gammaln((count - 1) / 2))
    return float((1 + 1 / (4 * count)) * np.std(values, ddof=1) / c4 / abs(mean) * 100)
