"""Numbers as the terminal and the page show them."""

from sweeps.comparison import Spread, Variant

NOTHING = "–"


def score(spread: Spread | None) -> str:
    """A score to one decimal, with its standard deviation over seeds where there are several."""
    if spread is None:
        return NOTHING
    if spread.deviation is None:
        return f"{spread.mean:.1f}"
    return f"{spread.mean:.1f} ± {spread.deviation:.1f}"


def seeds(variant: Variant) -> str:
    """The seeds of a variant: ``1, 2, 3``."""
    return ", ".join(map(str, variant.seeds))


def mean(values: list[float | None], decimals: int = 0) -> str:
    """The mean of the known values with thousands separated; a dash when none is known."""
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):,.{decimals}f}" if known else NOTHING
