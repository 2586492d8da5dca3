"""Choices of a model between right and wrong translations, in groups of contrastive pairs."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.metric import Array, FormulaMetric, ratio

RIGHT_CHOICES = FormulaMetric(
    *("contrast", "right choices (%)", 1, "contrast", lambda sums: 100 * ratio(sums)),
    from_zero=False,
    tested=True,
)
"""Share of pairs whose right translation the model finds more probable than the wrong one."""
ALL = "all"
ATTRACTORS = {"no attractor": 0, "attractor": 1}
RANGE = 5  # number of distances that a range of distances holds
UNKNOWN = -1  # distance or attractor of a pair without one


class PairChoices(NamedTuple):
    """Losses of a model on contrastive pairs; every array is ``(pairs,)``."""

    text: NDArray[np.uint64]  # hash of the texts of the pair
    source: NDArray[np.int64]
    """Number of the source sentence: pairs of the same sentence have the same number."""
    category: NDArray[np.str_]
    distance: NDArray[np.int64]  # words between the two words that belong together, or `UNKNOWN`
    attractor: NDArray[np.int64]  # 1 with an attractor, 0 without one, or `UNKNOWN`
    right: Array  # negative log-likelihood of the right translation, in nats
    wrong: Array  # negative log-likelihood of the wrong translation, in nats

    @classmethod
    def of(cls, pairs: Sequence[ContrastPair], right: Array, wrong: Array) -> Self:
        """Make choices of pairs with the losses of their translations."""
        _, source = np.unique(np.array([pair.source for pair in pairs]), return_inverse=True)
        return cls(
            text=np.array([_hash(pair) for pair in pairs], np.uint64),
            source=source.astype(np.int64),
            category=np.array([pair.category for pair in pairs]),
            distance=np.array([_number(pair.distance) for pair in pairs], np.int64),
            attractor=np.array([_number(pair.attractor) for pair in pairs], np.int64),
            right=np.asarray(right, np.float64),
            wrong=np.asarray(wrong, np.float64),
        )

    def on_pairs_of(self, other: Self) -> bool:
        """Whether both choices are between the same translations."""
        return np.array_equal(self.text, other.text)

    @property
    def right_choices(self) -> Array:
        """1 where the right translation has the smaller loss, 1/2 for equal losses, else 0."""
        return np.where(self.right < self.wrong, 1.0, np.where(self.right == self.wrong, 0.5, 0.0))

    @property
    def groups(self) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
        """Kind and name of each group, and whether a pair belongs to the group, ``(pairs,)``.

        The kinds are: all, category, attractor, range of distances, distance.
        """
        yield ALL, ALL, np.ones(len(self.source), bool)
        for category in dict.fromkeys(self.category.tolist()):
            yield "category", category, self.category == category
        for name, value in ATTRACTORS.items():
            yield "attractor", name, self.attractor == value
        distances = sorted({*self.distance.tolist()} - {UNKNOWN})
        for number in sorted({_range(distance) for distance in distances}):
            low, high = RANGE * number + 1, RANGE * (number + 1)
            chosen = (self.distance >= (low if number else 0)) & (self.distance <= high)
            yield "distances", f"{low}–{high}", chosen
        for distance in distances:
            yield "distance", str(distance), self.distance == distance

    def counts(self, chosen: NDArray[np.bool_]) -> Array:
        """Return right choices and pairs of each source sentence with a chosen pair.

        ``(pairs,) -> (sources, 2)``
        """
        sources, number = np.unique(self.source[chosen], return_inverse=True)
        right = np.bincount(number, self.right_choices[chosen], len(sources))
        return np.stack([right, np.bincount(number, minlength=len(sources))], axis=1)


def _hash(pair: ContrastPair) -> int:
    return int.from_bytes(hashlib.sha256(repr(pair).encode()).digest()[:8])


def _number(value: int | None) -> int:
    return UNKNOWN if value is None else int(value)


def _range(distance: int) -> int:
    """Return the number of the range that holds a distance; 0 belongs to the first range."""
    return max(distance - 1, 0) // RANGE
