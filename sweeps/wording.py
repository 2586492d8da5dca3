"""Numbers as the terminal shows them."""

from sweeps.evaluation.tables import NOTHING


def mean(values: list[float | None], decimals: int = 0) -> str:
    """The mean of the known values with thousands separated; a dash when none is known."""
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):,.{decimals}f}" if known else NOTHING
