"""Entropy, distance from the diagonal and coverage of attention weights between words.

Each statistic is a ratio of two sums over sentences, so that the value of any set of sentences
follows from the sums of each sentence. No gold alignment is needed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class AttentionValues(NamedTuple):
    """Values described in ``attention_statistics``; NaN where nothing was counted."""

    entropy: float
    distance: float
    coverage: float


def attention_statistics(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Sum up entropy, distance and coverage over the words of one sentence.

    For entropy and distance, target words whose weights are all 0 are left out, and the weights of
    each other target word are scaled to sum to 1.

    Args:
        weights: ``(tgt words, src words)`` from ``word_weights``, not negative.

    Returns:
        Rows of sum and count, ``(3, 2)``:

        - entropy of each target word's weights, ``-Σ_i p_i ln p_i`` in nats, 0 (all weight on one
          source word) to ln S (equal weights on all S), over target words;
        - distance from the diagonal, ``Σ_i p_i |(i + ½)/S - (j + ½)/T|`` between the middles of
          the words as shares of their sentences, from 0 to less than 1, over target words;
        - coverage, ``min(1, Σ_j w_ij)``, 0 to 1, over source words: how much weight each source
          word receives, at most 1 (Wu et al. 2016, arXiv 1609.08144, eq. 14).
    """
    weights = np.asarray(weights, dtype=np.float64)
    sums = weights.sum(1)
    attending = sums > 0
    shares = weights[attending] / sums[attending, None]
    logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    target_places, source_places = [(np.arange(words) + 0.5) / words for words in weights.shape]
    distances = np.abs(target_places[attending, None] - source_places)
    covered = np.minimum(weights.sum(0), 1)
    return np.array(
        [
            (abs((shares * logarithms).sum()), attending.sum()),
            ((shares * distances).sum(), attending.sum()),
            (covered.sum(), len(covered)),
        ]
    )


def attention_values(sums: NDArray[np.floating]) -> AttentionValues:
    """Divide summed statistics ``(3, 2)`` by their counts."""
    totals, counts = np.asarray(sums, dtype=np.float64).T
    ratios = np.divide(totals, counts, out=np.full(3, np.nan), where=counts > 0)
    return AttentionValues(*ratios.tolist())
