"""What a claim measures on the translations of one seed: a score, a slope over length, a ratio."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric, ratio
from lightning_modules.metrics.resampling import Resamples, resampled_counts

Rows = NDArray[np.int64]  # numbers of sentences, or of contrastive pairs


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
class ScoreQuantity(Quantity):
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
class SlopeQuantity(Quantity):
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
class RatioQuantity(Quantity):
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


class SystemValues(NamedTuple):
    """A quantity of one system."""

    observed: Array  # on the test set, `(seeds,)`
    resampled: Array  # on resampled test sets, `(seeds, resamples)`


class Draws:
    """Resamples of one test set, drawn once.

    A row of the statistics is a sentence, or one of several contrastive pairs of a sentence; rows
    of a sentence are drawn together.

    Args:
        sentence: number of the sentence of each row, ``(rows,)``, from 0 without gaps.
        resamples: number and seed of the draws.
    """

    def __init__(self, sentence: Rows, resamples: Resamples) -> None:
        self._sentence = sentence
        self._resamples = resamples
        self.sentences = int(sentence.max()) + 1

    @cached_property
    def _times(self) -> Array:
        """How often each resample has each sentence, ``(sentences, resamples)``."""
        times = np.empty((self.sentences, self._resamples.count))
        for chosen, counts in resampled_counts(self.sentences, self._resamples):
            times[:, chosen] = counts.T
        return times

    def values(self, quantity: Quantity, statistics: Sequence[Array]) -> SystemValues:
        """Return a quantity of a system from each seed's statistics, ``(rows, columns)``.

        The values depend on nothing else that is asked for. Raises ``ValueError`` if a seed has no
        value, on the test set or on a resample.
        """
        joined = np.stack(statistics, axis=1)  # (rows, seeds, columns)
        scores = [self._scores(quantity, joined, part) for part in quantity.parts]
        observed, resampled = (quantity.value(np.stack(each)) for each in zip(*scores, strict=True))
        name = quantity.metric.label
        if not np.isfinite(observed).all():
            seed = int(np.flatnonzero(~np.isfinite(observed))[0]) + 1
            raise ValueError(f"{name} has no value for seed number {seed}")
        if not np.isfinite(resampled).all():
            raise ValueError(f"{name} has no value on some resampled test sets: too few sentences")
        return SystemValues(observed, resampled)

    def _scores(self, quantity: Quantity, joined: Array, part: Rows | None) -> tuple[Array, Array]:
        """Return scores ``(seeds,)`` and ``(seeds, resamples)`` of one part of the test set."""
        rows = np.arange(len(joined)) if part is None else part
        drawn, place = np.unique(self._sentence[rows], return_inverse=True)
        sums = np.zeros((len(drawn), *joined.shape[1:]))
        np.add.at(sums, place, joined[rows])
        times = self._times if len(drawn) == self.sentences else self._times[drawn]
        _, seeds, columns = sums.shape
        resampled = sums.reshape(len(drawn), -1).T @ times
        by_seed = np.moveaxis(resampled.reshape(seeds, columns, -1), 1, 2)
        return quantity.metric.score(sums.sum(0)), quantity.metric.score(by_seed)
