"""BLEU from sums over sentences; sacreBLEU counts.

A validation needs this file alone, which loads nothing of the other metrics.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER

from lightning_modules.library_internals import sentence_counts
from lightning_modules.metrics.words import PLAIN, WordRule, counter_of

Counts = NDArray[np.float64]
BLEU_ORDER = 4


def sacrebleu_counts(
    counter: BLEU | CHRF | TER, hypotheses: Sequence[str], *references: Sequence[str | None]
) -> Counts:
    """Return what a metric of sacreBLEU sums over sentences, ``(sentences, columns)``.

    Of several ``references``, a sentence may lack some (None). Raises ``ValueError`` when the lists
    are empty or of unequal length.
    """
    for each in references:
        if len(hypotheses) != len(each):
            raise ValueError(f"{len(hypotheses)} hypotheses for {len(each)} references")
    if not hypotheses:
        raise ValueError("nothing to score: there are no sentences")
    return np.array(sentence_counts(counter, hypotheses, references), np.float64)


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], rule: WordRule = PLAIN
) -> float:
    """Return corpus BLEU, 0 to 100. Raises ``ValueError`` as ``sacrebleu_counts`` does."""
    return float(bleu(sacrebleu_counts(counter_of(rule), hypotheses, references).sum(0)))


def bleu(sums: Counts, effective_order: bool = False) -> Counts:
    """Return BLEU, 0 to 100, as sacreBLEU does from ``hyp, ref, correct × 4, total × 4``.

    The k-th zero among the counts ``correct`` becomes 2⁻ᵏ (NIST's "exp" smoothing). With
    ``effective_order``, orders that no hypothesis is long enough for are left out: for single
    sentences.
    """
    hyp, ref = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2 : 2 + BLEU_ORDER], sums[..., 2 + BLEU_ORDER :]
    if correct.all():  # nothing to smooth or to leave out: several times as fast
        averaged = np.log(100 * (correct / total)).sum(-1) / BLEU_ORDER
        return np.asarray(np.exp(np.minimum(0, 1 - ref / hyp)) * np.exp(averaged))
    none = correct == 0
    halvings = np.where(none, np.cumsum(none, axis=-1), 0)
    reached = total > 0
    precision = np.where(none, 0.5**halvings, correct) / np.where(reached, total, 1)
    logs = np.log(100 * precision, where=reached, out=np.zeros_like(precision))
    orders = reached.sum(-1)
    complete = orders == BLEU_ORDER
    averaged = logs.sum(-1) / (np.maximum(orders, 1) if effective_order else BLEU_ORDER)
    penalty = np.exp(np.minimum(0, 1 - ref / np.where(hyp > 0, hyp, 1)))
    scored = ~none.all(-1) & (effective_order | complete)
    return np.where(scored, penalty * np.exp(averaged), 0.0)
