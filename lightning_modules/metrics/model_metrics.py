"""Metrics of a model and its attention, from statistics that the test of a run provides."""

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class ModelMetric(Metric):
    """A metric whose statistics come from forced decoding, the attention, or BLEU's counts."""

    name: str
    label: str
    better: int
    formula: Callable[[Array], Array]
    """Scores ``(…)`` from sums ``(…, columns)``."""
    counts: str
    """Name of the statistics."""
    decimals: int = 1
    from_zero: bool = True
    in_summary: bool = False

    @property
    @override
    def statistics(self) -> str:
        return self.counts

    @override
    def score(self, sums: Array) -> Array:
        return self.formula(sums)


def perplexity(sums: Array) -> Array:
    """Return the exponential of the mean negative log-likelihood, from ``nats, tokens``.

    NaN on overflow, as for a model that diverged.
    """
    nats = ratio(sums)
    return np.exp(nats, where=nats < MOST_NATS, out=np.full(nats.shape, np.nan))


def _percent(share: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda sums: 100 * share(sums)


MODEL_METRICS = (
    ModelMetric(
        "length_ratio", "length ratio", 0, lambda sums: ratio(sums[..., :2]), "bleu", 3, False
    ),
    ModelMetric(
        "perplexity",
        "perplexity of a reference token",
        -1,
        perplexity,
        "likelihood",
        2,
        in_summary=True,
    ),
    ModelMetric(
        "aer", "alignment error (%)", -1, _percent(alignment_error_rate), "links", in_summary=True
    ),
    ModelMetric("precision", "alignment precision (%)", 1, _percent(alignment_precision), "links"),
    ModelMetric("recall", "alignment recall (%)", 1, _percent(alignment_recall), "links"),
    ModelMetric("entropy", "entropy of attention (nats)", 0, ratio, "entropy", 2),
    ModelMetric("distance", "distance from the diagonal", 0, ratio, "distance", 3),
    ModelMetric("coverage", "coverage of source words", 1, ratio, "coverage", 3),
)
"""The metrics of this file, in the order of the tables. Hypothesis tokens per reference token, of
which the counts of BLEU begin with both; likelihood of the references; their alignment; and the
attention of the translations, whose values are described in ``attention_statistics``."""
