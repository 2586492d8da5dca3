"""What a claim measures on the translations of one seed: a score, a slope over length, a ratio."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric, ratio

Rows = NDArray[np.int64]
"""Numbers of sentences, or of contrastive pairs."""


class Quantity(ABC):
    """A number computed from a metric's scores on parts of a test set."""

    metric: Metric

    @property
    @abstractmethod
    def parts(self) -> Sequence[Rows | None]:
        """The parts of the test set that are scored; None for the whole."""

    @abstractmethod
    def value(self, scores: Array) -> Array:
        """Return values ``(…)`` from scores ``(parts, …)``; NaN where a value is not defined."""


@dataclass(frozen=True, eq=False)
class Score(Quantity):
    """A score on the whole test set, or on some sentences.

    The metric ``aer`` gives the alignment error; ``length_ratio`` on long sentences tells whether
    translations are too short; ``contrast`` gives the share of right choices.
    """

    metric: Metric
    sentences: Rows | None = None

    @property
    @override
    def parts(self) -> Sequence[Rows | None]:
        return [self.sentences]

    @override
    def value(self, scores: Array) -> Array:
        return scores[0]


@dataclass(frozen=True, eq=False)
class Slope(Quantity):
    """The rise of a score for every ten words, over length buckets (``slope_per_ten``)."""

    metric: Metric
    buckets: Sequence[Bucket]

    @property
    @override
    def parts(self) -> Sequence[Rows | None]:
        return [bucket.index for bucket in self.buckets]

    @override
    def value(self, scores: Array) -> Array:
        return slope_per_ten(self.buckets, scores)


@dataclass(frozen=True, eq=False)
class RelativeScore(Quantity):
    """The score beyond the lengths of the training text, divided by the score inside; 1 is no fall.

    NaN where the score inside is 0.
    """

    metric: Metric
    beyond: Rows
    inside: Rows

    @property
    @override
    def parts(self) -> Sequence[Rows | None]:
        return [self.beyond, self.inside]

    @override
    def value(self, scores: Array) -> Array:
        return ratio(np.moveaxis(scores, 0, -1))
