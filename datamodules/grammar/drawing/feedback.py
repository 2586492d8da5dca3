"""Keeps shares as they were asked for, although not every draw can be carried out."""


class Share:
    """Probability of a choice, raised while too few choices were carried out, and lowered after."""

    def __init__(self, wanted: float) -> None:
        self._wanted = wanted
        self._lack = 0.0

    def next_probability(self) -> float:
        """Return the probability of the next choice."""
        return min(1.0, max(0.0, self._wanted + self._lack / 4)) if self._wanted else 0.0

    def count(self, done: int, possible: int) -> None:
        """Take note of how many of the possible choices were carried out."""
        self._lack = _limited(self._lack + self._wanted * possible - done, 8)


class Mean:
    """Sizes whose mean is as asked for, although not every size fits."""

    def __init__(self, wanted: float) -> None:
        self._wanted = wanted
        self._lack = 0.0

    def allows(self, size: int) -> bool:
        """Return whether ``size`` may be written now; if it is, ``count`` must be called."""
        self._lack = _limited(self._lack + self._wanted, 40)
        return self._lack >= size / 2

    def count(self, size: int) -> None:
        """Take note of a size."""
        self._lack -= size


def _limited(value: float, limit: float) -> float:
    return min(limit, max(-limit, value))
