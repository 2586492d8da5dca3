"""The nearest copy: the translation of the training sentence that is most like the test sentence.

A memory of translations, which knows nothing that a model cannot see. Likeness is the cosine of
both sources' words, each counted and weighted by log(N / n), where n of N training sentences have
the word (Spärck Jones 1972).
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, diags

from datamodules.corpus import ParallelText
from datamodules.words import words_of

NEAREST_COPY = "nearest copy"
MOST = 100_000  # training pairs that are looked at; of a longer text, evenly spaced ones
AT_ONCE = 64  # test sentences that are compared at once, so that memory stays bounded


def nearest_copies(training: ParallelText, sources: Sequence[str]) -> list[str]:
    """Return for each source the target of the nearest training pair; of equals, the first."""
    counts = _word_counts([*training.source, *sources])
    known, asked = counts[: len(training)], counts[len(training) :]
    having = np.bincount(known.indices, minlength=known.shape[1])
    rarity = diags(np.log(len(training) / np.maximum(having, 1)))
    known = known @ rarity
    lengths = np.sqrt(known.power(2).sum(1)).A1
    lengths[lengths == 0] = 1  # sentences of words that all others have
    likeness = (diags(1 / lengths) @ known @ rarity).T.tocsr()
    return [
        training.target[nearest]
        for first in range(0, len(sources), AT_ONCE)
        for nearest in (asked[first : first + AT_ONCE] @ likeness).toarray().argmax(1)
    ]


def _word_counts(lines: Sequence[str]) -> csr_matrix:
    """Return how often each line has each word, ``(lines, words)``."""
    distinct, numbers = words_of(lines)
    ends = np.concatenate([[0], np.cumsum(numbers.lengths)])
    counts = csr_matrix(
        (np.ones(len(numbers.tokens)), numbers.tokens, ends), (len(lines), len(distinct))
    )
    counts.sum_duplicates()
    return counts
