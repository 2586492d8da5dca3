"""Numbers as readers see them: real minus signs, rounded sizes, p-values that are never 0."""

import math
from collections.abc import Sequence

from lightning_modules.metrics.bootstrap import Estimate

NOTHING = "–"
MINUS = "\u2212"
EXACT_BELOW = 10_000  # sizes from here on have three digits and a unit
UNITS = {1e18: "E", 1e15: "P", 1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k"}


def format_number(value: float, decimals: int = 0, signed: bool = False) -> str:
    """Return ``−1,234.5``: with ``decimals``, and with a plus sign too where ``signed``."""
    sign = "+" if signed else ""
    return f"{value:{sign}z,.{decimals}f}".replace("-", MINUS)


def format_size(value: float) -> str:
    """Return ``1.23 M``: three digits and a unit from 10,000 on, else the whole number."""
    if value < EXACT_BELOW:
        return format_number(value)
    rounded = float(f"{value:.3g}")
    size = max(size for size in UNITS if size <= rounded)
    return f"{rounded / size:#.3g}".rstrip(".") + f" {UNITS[size]}"


def format_estimate(estimate: Estimate, decimals: int) -> str:
    """Return ``64.1 [62.0, 66.1] ± 0.5``: mean, interval over sentences, deviation over seeds.

    All parts have the same ``decimals``.
    """
    parts = [format_number(estimate.value, decimals)]
    if (interval := format_interval(estimate, decimals)) is not None:
        parts.append(interval)
    if estimate.deviation is not None:
        parts.append(f"± {format_number(estimate.deviation, decimals)}")
    return " ".join(parts)


def format_interval(estimate: Estimate, decimals: int) -> str | None:
    """Return ``[62.0, 66.1]``; None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return f"[{format_number(estimate.low, decimals)}, {format_number(estimate.high, decimals)}]"


def p_floor(resamples: int, tests: int = 1) -> float:
    """Return the least p-value that ``resamples`` can give, after Holm's correction of ``tests``.

    The observed value counts as one of the draws (Phipson and Smyth 2010), and Holm multiplies the
    smallest p-value by the number of tests.
    """
    return min(1.0, tests / (resamples + 1))


def format_p(p: float, floor: float | None = None) -> str:
    """Return a p-value with four decimals, or in scientific notation: never 0.

    A p-value at its ``floor`` is shown as ``≤ 0.0071``: more resamples could make it smaller.
    """
    if floor is not None and floor < 1 and math.isclose(p, floor):
        return f"≤ {_four_decimals(p, rounded_up=True)}"
    return _four_decimals(p, rounded_up=False)


def p_statement(p: float, floor: float | None = None) -> str:
    """Return ``p = 0.0312`` or ``p ≤ 0.0071``."""
    shown = format_p(p, floor)
    return f"p {shown}" if shown.startswith("≤") else f"p = {shown}"


def _four_decimals(p: float, rounded_up: bool) -> str:
    decimals = 4 if p >= 0.0001 else 1 - math.floor(math.log10(p))
    if rounded_up:
        p = math.ceil(round(p * 10**decimals, 6)) / 10**decimals
    return f"{p:.4f}" if decimals == 4 else f"{p:.1e}".replace("-", MINUS)


def format_duration(seconds: float) -> str:
    """Return a time in the unit in which it is read: ``42 s``, ``3.5 min``, ``2.1 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def in_words(parts: Sequence[str]) -> str:
    """Return a list as a sentence has it: ``a, b and c``."""
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last
