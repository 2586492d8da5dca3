"""Quantities of systems on resampled test sentences; all claims on a test set share the draws."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.uncertainty.resampling import Resamples, resampled_counts
from sweeps.claims.statistics.quantities import Quantity, Rows


class Values(NamedTuple):
    """A quantity of one system."""

    observed: Array
    """On the test set, ``(seeds,)``."""
    resampled: Array
    """On resampled test sets, ``(seeds, resamples)``."""


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

    def values(self, quantity: Quantity, statistics: Sequence[Array]) -> Values:
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
        return Values(observed, resampled)

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
