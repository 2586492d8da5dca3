"""Counts of each sentence, whose sums give the score of any set of sentences.

Corpus scores, length buckets, bootstrap resamples and shuffled systems are sums over index sets of
the same arrays; nothing is counted twice. sacreBLEU counts for BLEU, chrF and TER.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER

from lightning_modules.metrics.alignment.gold import (
    alignment_error_rate,
    alignment_precision,
    alignment_recall,
)

Array = NDArray[np.float64]
Statistics = Mapping[str, Array]
"""Arrays ``(sentences, columns)`` by the name in ``Metric.counts``."""

BLEU_ORDER = 4
SENTENCE_BLEU = "sentence BLEU"
CHRF_ORDER, CHRF_COLUMNS = 6, 18
"""chrF++ counts words after the 6 orders of characters: the first 18 columns are those of chrF."""
MOST_NATS = np.log(np.finfo(np.float64).max)
"""Largest number of nats whose exponential is finite."""


@dataclass(frozen=True)
class Metric:
    """A score of a set of sentences."""

    name: str
    """Key in files."""
    label: str
    """Name for readers, with the unit."""
    counts: str
    """Name of the statistics from which the score is computed."""
    score: Callable[[Array], Array]
    """Function from sums ``(…, columns)`` to scores ``(…)``; NaN instead of a division by 0."""
    better: int
    """1: a higher score is better; -1: a lower score is better; 0: neither."""
    decimals: int = 1
    from_zero: bool = True
    """Whether a figure's axis begins at 0."""


def translation_statistics(
    hypotheses: Sequence[str], references: Sequence[str], ter: bool = True
) -> Statistics:
    """Count with sacreBLEU: ``bleu`` (10 columns), ``chrf`` (24, of chrF++), maybe ``ter`` (2).

    TER looks for words to shift, which takes a tenth of a second for a long and wrong sentence.

    Raises ``ValueError`` when the lists are empty or of unequal length.
    """
    return {
        name: _count(counter, hypotheses, references)
        for name, counter in _counters().items()
        if name != "ter" or ter
    }


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return corpus BLEU, 0 to 100. Raises ``ValueError`` as ``translation_statistics`` does."""
    return float(bleu(_count(_counters()["bleu"], hypotheses, references).sum(0)))


def _count(
    counter: BLEU | CHRF | TER, hypotheses: Sequence[str], references: Sequence[str]
) -> Array:
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
    if not hypotheses:
        raise ValueError("nothing to score: there are no sentences")
    return np.array(counter._extract_corpus_statistics(hypotheses, [references]), np.float64)


def signatures() -> dict[str, str]:
    """Return sacreBLEU's signatures for one reference by ``Metric.name`` and ``SENTENCE_BLEU``."""
    counters = _counters()
    by_name = {
        "bleu": counters["bleu"],
        SENTENCE_BLEU: BLEU(effective_order=True),
        "chrf": CHRF(),
        "chrf++": counters["chrf"],
        "ter": counters["ter"],
    }
    for counter in by_name.values():
        counter.num_refs = 1
    return {name: str(counter.get_signature()) for name, counter in by_name.items()}


def _counters() -> dict[str, BLEU | CHRF | TER]:
    # force=True: no warning for a text that looks tokenised.
    return {"bleu": BLEU(force=True), "chrf": CHRF(word_order=2), "ter": TER()}


def bleu(sums: Array, effective_order: bool = False) -> Array:
    """Return BLEU, 0 to 100, as sacreBLEU does from ``hyp, ref, correct × 4, total × 4``.

    The k-th zero among the counts ``correct`` becomes 2⁻ᵏ (NIST's "exp" smoothing). With
    ``effective_order``, orders that no hypothesis is long enough for are left out: for single
    sentences.
    """
    hyp, ref = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2 : 2 + BLEU_ORDER], sums[..., 2 + BLEU_ORDER :]
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


def sentence_bleu(statistics: Statistics) -> Array:
    """Return BLEU of each sentence, ``(sentences,)``, with effective order."""
    return bleu(statistics["bleu"], effective_order=True)


def chrf_plus_plus(sums: Array) -> Array:
    """Return chrF2++, 0 to 100, from ``hyp, ref, match`` of 6 character and 2 word orders."""
    hyp, ref, match = (sums[..., column::3] for column in range(3))
    present = (hyp > 0) & (ref > 0)
    orders = np.maximum(present.sum(-1), 1)
    precision, recall = (
        np.divide(match, whole, where=present, out=np.zeros_like(match)).sum(-1) / orders
        for whole in (hyp, ref)
    )
    weighted = 4 * precision + recall  # β = 2
    return np.where(weighted > 0, 500 * precision * recall / np.where(weighted > 0, weighted, 1), 0)


def chrf(sums: Array) -> Array:
    """Return chrF2, 0 to 100, from the counts of chrF2++."""
    return chrf_plus_plus(sums[..., :CHRF_COLUMNS])


def ter(sums: Array) -> Array:
    """Return the translation edit rate in percent of reference words, from ``edits, words``."""
    edits, words = sums[..., 0], sums[..., 1]
    return 100 * np.where(words > 0, edits / np.where(words > 0, words, 1), edits > 0)


def length_ratio(sums: Array) -> Array:
    """Return hypothesis tokens per reference token, from the counts of BLEU."""
    return ratio(sums[..., :2])


def perplexity(sums: Array) -> Array:
    """Return the exponential of the mean negative log-likelihood, from ``nats, tokens``.

    NaN on overflow, as for a model that diverged.
    """
    nats = ratio(sums)
    return np.exp(nats, where=nats < MOST_NATS, out=np.full(nats.shape, np.nan))


def ratio(sums: Array) -> Array:
    """Return the first column divided by the second; NaN where the second is 0."""
    first, second = sums[..., 0], sums[..., 1]
    return np.divide(first, second, where=second != 0, out=np.full(first.shape, np.nan))


def _percent(score: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda sums: 100 * score(sums)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("bleu", "BLEU", "bleu", bleu, 1),
        Metric("chrf", "chrF", "chrf", chrf, 1),
        Metric("chrf++", "chrF++", "chrf", chrf_plus_plus, 1),
        Metric("ter", "TER (%)", "ter", ter, -1),
        Metric("length_ratio", "length ratio", "bleu", length_ratio, 0, 3, from_zero=False),
        Metric("perplexity", "perplexity of a reference token", "likelihood", perplexity, -1, 2),
        Metric("aer", "alignment error (%)", "links", _percent(alignment_error_rate), -1),
        Metric("precision", "alignment precision (%)", "links", _percent(alignment_precision), 1),
        Metric("recall", "alignment recall (%)", "links", _percent(alignment_recall), 1),
        Metric("entropy", "entropy of attention (nats)", "entropy", ratio, 0, 2),
        Metric("distance", "distance from the diagonal", "distance", ratio, 0, 3),
        Metric("coverage", "coverage of source words", "coverage", ratio, 1, 3),
    )
}
"""All metrics by name, in the order of the tables."""
TRANSLATION = ("bleu", "chrf", "chrf++", "ter")
"""Metrics of sacreBLEU, which are tested for significance."""
