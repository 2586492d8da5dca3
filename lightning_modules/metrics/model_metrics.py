"""Metrics of a model and its attention, from statistics that the test of a run provides."""

import numpy as np
from typing_extensions import override

from lightning_modules.metrics.metric import Array, Metric, ratio
from lightning_modules.metrics.word_alignment import (
    alignment_error_rate,
    alignment_precision,
    alignment_recall,
)

MOST_NATS = np.log(np.finfo(np.float64).max)
"""Largest number of nats whose exponential is finite."""


class LengthRatio(Metric):
    """Hypothesis tokens per reference token, from the counts of BLEU."""

    name = "length_ratio"
    label = "length ratio"
    better = 0
    statistics = "bleu"
    decimals = 3
    from_zero = False

    @override
    def score(self, sums: Array) -> Array:
        return ratio(sums[..., :2])


class Perplexity(Metric):
    """The exponential of the mean negative log-likelihood, from ``nats, tokens``.

    NaN on overflow, as for a model that diverged.
    """

    name = "perplexity"
    label = "perplexity of a reference token"
    better = -1
    statistics = "likelihood"
    decimals = 2
    in_summary = True

    @override
    def score(self, sums: Array) -> Array:
        nats = ratio(sums)
        return np.exp(nats, where=nats < MOST_NATS, out=np.full(nats.shape, np.nan))


class AlignmentError(Metric):
    """The alignment error rate in percent."""

    name = "aer"
    label = "alignment error (%)"
    better = -1
    statistics = "links"
    in_summary = True

    @override
    def score(self, sums: Array) -> Array:
        return 100 * alignment_error_rate(sums)


class AlignmentPrecision(Metric):
    """The precision of alignment links in percent."""

    name = "precision"
    label = "alignment precision (%)"
    better = 1
    statistics = "links"

    @override
    def score(self, sums: Array) -> Array:
        return 100 * alignment_precision(sums)


class AlignmentRecall(Metric):
    """The recall of alignment links in percent."""

    name = "recall"
    label = "alignment recall (%)"
    better = 1
    statistics = "links"

    @override
    def score(self, sums: Array) -> Array:
        return 100 * alignment_recall(sums)


class _Ratio(Metric):
    """A mean over words, from ``sum, words``."""

    @override
    def score(self, sums: Array) -> Array:
        return ratio(sums)


class Entropy(_Ratio):
    """The mean entropy of the attention of a target word."""

    name = "entropy"
    label = "entropy of attention (nats)"
    better = 0
    decimals = 2


class Distance(_Ratio):
    """The mean distance of the attention from the diagonal."""

    name = "distance"
    label = "distance from the diagonal"
    better = 0
    decimals = 3


class Coverage(_Ratio):
    """The share of source words that the attention covers."""

    name = "coverage"
    label = "coverage of source words"
    better = 1
    decimals = 3


GIVEN_METRICS: tuple[Metric, ...] = (
    LengthRatio(),
    Perplexity(),
    AlignmentError(),
    AlignmentPrecision(),
    AlignmentRecall(),
    Entropy(),
    Distance(),
    Coverage(),
)
"""The metrics of this file, in the order of the tables."""
