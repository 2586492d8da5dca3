"""What attention weights between words look like, whatever is right: entropy, distance, coverage.

Each is a ratio of two sums over sentences, so that a value of a corpus, or of its sentences of some
length, is made of the sums of its sentences.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class AttentionValues(NamedTuple):
    """See ``attention_statistics``; NaN where nothing was counted."""

    entropy: float
    distance: float
    coverage: float


def attention_statistics(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Sum up what ``weights`` (tgt words, src words) of one sentence look like.

    Target words that look at no word are left out of entropy and distance, and the weights of the
    others are made to sum to 1 there.

    Args:
        weights: not negative; from ``word_weights``.

    Returns:
        Rows of sum and count, ``(3, 2)``:

        - entropy of each target word's weights, ``-Σ_i p_i ln p_i`` in nats, 0 (one source word
          alone) to ln S (all S alike), over target words;
        - distance from the diagonal, ``Σ_i p_i |(i + ½)/S - (j + ½)/T|`` between the middles of
          the words as shares of their sentences, from 0 to less than 1, over target words;
        - coverage, ``min(1, Σ_j w_ij)``, 0 to 1, over source words: how much of the source was
          looked at, looking twice not counted (Wu et al. 2016, arXiv 1609.08144, eq. 14).
    """
    weights = np.asarray(weights, dtype=np.float64)
    sums = weights.sum(1)
    looking = sums > 0
    shares = weights[looking] / sums[looking, None]
    logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    target_places, source_places = [(np.arange(words) + 0.5) / words for words in weights.shape]
    distances = np.abs(target_places[looking, None] - source_places)
    covered = np.minimum(weights.sum(0), 1)
    return np.array(
        [
            (abs((shares * logarithms).sum()), looking.sum()),
            ((shares * distances).sum(), looking.sum()),
            (covered.sum(), len(covered)),
        ]
    )


def attention_values(sums: NDArray[np.floating]) -> AttentionValues:
    """Divide summed statistics ``(3, 2)``."""
    parts, counts = np.asarray(sums, dtype=np.float64).T
    ratios = np.divide(parts, counts, out=np.full(3, np.nan), where=counts > 0)
    return AttentionValues(*ratios.tolist())
