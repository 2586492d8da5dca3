"""Is a wrong translation the fault of the search or of the model?

Stahlberg and Byrne 2019 (D19-1331) find the best translation by exact search. Here the reference
and the translations of other searches stand for it, so that fewer search errors are found than
there are.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from lightning_modules.metrics.metric import Array, FormulaMetric

COUNTS = "search_errors"
"""Name of the statistics: 1 for the kind of each sentence in the order of ``KINDS``, then 1,
``(sentences, 4)``."""
OUTPUT = "output_likelihood"
"""Name of the statistics of a run: nats and tokens of each translation, EOS included."""
ROUNDING = 1e-3  # difference of two scores that may be one of float32


def search_scores(likelihood: Array, length_penalty: float) -> Array:
    """Return the scores by which a beam ranks translations, from their nats and tokens.

    ``(sentences, 2) -> (sentences,)``; see ``BeamSearch``. With a penalty of 0, they are
    log-probabilities.
    """
    return -likelihood[:, 0] / ((5 + likelihood[:, 1]) / 6) ** length_penalty


def error_counts(output: Array, others: Sequence[Array], right: Array) -> Array:
    """Return the statistics ``COUNTS`` of translations with the scores ``output``.

    Args:
        output: score of each translation, ``(sentences,)``.
        others: scores of other translations that the search could have found, the reference's among
            them, ``(sentences,)`` each.
        right: 1 where the translation equals a reference, ``(sentences,)``.
    """
    found_better = np.max(others, axis=0) > output + ROUNDING
    wrong = right == 0
    kinds = (~wrong, wrong & found_better, wrong & ~found_better, np.ones_like(wrong))
    return np.stack(kinds, axis=1).astype(np.float64)


def _percent(kind: int, sums: Array) -> Array:
    return 100 * np.asarray(sums[..., kind] / np.maximum(sums[..., -1], 1))


RIGHT, SEARCH_ERRORS, MODEL_ERRORS = KINDS = tuple(
    FormulaMetric(name, label, better, COUNTS, partial(_percent, kind))
    for kind, (name, label, better) in enumerate(
        (
            ("right", "equal to the reference (%)", 1),
            ("search_errors", "search errors (%)", -1),
            ("model_errors", "model errors (%)", -1),
        )
    )
)
"""Shares of the sentences, which sum to 100: right; wrong, although the model scores another
translation higher; wrong, and no known translation has a higher score."""
