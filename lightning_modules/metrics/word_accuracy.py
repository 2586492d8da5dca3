"""Accuracy of words by their frequency in training, after compare-mt (Neubig et al. 2019).

Words are counted for each sentence, so that the counts of a test set, of some of its sentences or
of a bootstrap resample are a sum over rows.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.metric import check_aligned

FREQUENCY_GROUPS = ("0", "1", "2", "3", "4", "5–9", "10–99", "100–999", "1000+")
"""Occurrences in the training text, as compare-mt groups them."""
_FREQUENCY_EDGES = (1, 2, 3, 4, 5, 10, 100, 1000)


def word_accuracy(
    references: Sequence[Sequence[str]],
    hypotheses: Sequence[Sequence[str]],
    frequencies: Mapping[str, int],
) -> NDArray[np.int64]:
    """Count the words of each of ``FREQUENCY_GROUPS``: ``(sentences, groups, 3)``.

    The columns are: in both hypothesis and reference, in the hypothesis, in the reference. A word
    of a hypothesis counts as matched as often as its reference has it. Raises ``ValueError`` for
    lists of unequal length.
    """
    check_aligned(references=references, hypotheses=hypotheses)
    groups = {word: bisect_right(_FREQUENCY_EDGES, times) for word, times in frequencies.items()}
    pairs = zip(references, hypotheses, strict=True)
    matched = [(Counter(ref) & Counter(hyp)).elements() for ref, hyp in pairs]
    shape = len(references), len(FREQUENCY_GROUPS)
    counts = np.zeros((*shape, 3), dtype=np.int64)
    for column, lines in enumerate((matched, hypotheses, references)):
        # One count over all sentences: a call of NumPy for each would take longer.
        cells = [
            sentence * len(FREQUENCY_GROUPS) + groups.get(word, 0)
            for sentence, words in enumerate(lines)
            for word in words
        ]
        found = np.bincount(np.array(cells, np.int64), minlength=counts[..., 0].size)
        counts[..., column] = found.reshape(shape)
    return counts


def precision_recall_f1(sums: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
    """Return precision, recall and F1 ``(…, 3)``, 0 to 100, of ``word_accuracy`` sums ``(…, 3)``.

    NaN instead of a division by 0: precision of a group without words in the hypotheses, recall of
    a group without words in the references, F1 of a group without words in either.
    """
    matched, hypothesis, reference = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    words = np.stack([hypothesis, reference, (hypothesis + reference) / 2], axis=-1)
    undefined = np.full_like(words, np.nan)
    return np.divide(100 * matched[..., None], words, out=undefined, where=words > 0)
