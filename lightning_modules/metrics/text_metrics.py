"""Metrics of translations: BLEU, chrF, chrF++ and TER, counted by sacreBLEU; exact match."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER
from typing_extensions import override

from lightning_modules.metrics.bleu import bleu, sacrebleu_counts
from lightning_modules.metrics.metric import (
    Array,
    ReferenceText,
    Statistics,
    TextMetric,
    check_aligned,
    ratio,
)
from lightning_modules.metrics.words import WordRule, counter_of

SENTENCE_BLEU = "sentence BLEU"
VARIABLE = -1  # sacreBLEU's number of references where the sentences differ
CHRF_COLUMNS = 18
"""chrF++ counts words after the 6 orders of characters: the first 18 columns are those of chrF."""


def _signature(counter: BLEU | CHRF | TER, text: ReferenceText) -> str:
    counter.num_refs = text.reference_count or VARIABLE
    return str(counter.get_signature())


class SacrebleuMetric(TextMetric):
    """A metric whose statistics are those that sacreBLEU sums over sentences."""

    better = 1

    @abstractmethod
    def counter(self, rule: WordRule) -> BLEU | CHRF | TER:
        """Return what counts the statistics."""

    @override
    def count(self, text: ReferenceText, hypotheses: Sequence[str]) -> Array:
        return sacrebleu_counts(self.counter(text.rules.target), hypotheses, *text.streams)

    @override
    def signature_on(self, text: ReferenceText) -> str:
        return _signature(self.counter(text.rules.target), text)


class Bleu(SacrebleuMetric):
    """BLEU, 0 to 100."""

    name = "bleu"
    label = "BLEU"

    @override
    def counter(self, rule: WordRule) -> BLEU:
        return counter_of(rule)

    @override
    def score(self, sums: Array) -> Array:
        return bleu(sums)


class ExactMatch(TextMetric):
    """The percentage of translations that equal one of their references, from ``equal, 1``.

    Only words count: a translation without words equals a reference without words.
    """

    name = "exact"
    label = "exact match (%)"
    better = 1

    @override
    def count(self, text: ReferenceText, hypotheses: Sequence[str]) -> Array:
        check_aligned(references=text.references, hypotheses=hypotheses)
        words = text.rules.target.words
        pairs = zip(hypotheses, zip(*text.streams, strict=True), strict=True)
        equal = (
            any(words(hypothesis) == words(each) for each in references if each is not None)
            for hypothesis, references in pairs
        )
        return np.array([(each, 1) for each in equal], np.float64)

    @override
    def score(self, sums: Array) -> Array:
        return 100 * ratio(sums)


class ChrfPlusPlus(SacrebleuMetric):
    """chrF2++, 0 to 100, from ``hyp, ref, match`` of 6 character and 2 word orders."""

    name = "chrf++"
    label = "chrF++"
    in_summary = False
    statistics = "chrf"

    @override
    def counter(self, rule: WordRule) -> CHRF:
        return CHRF(word_order=2)

    @override
    def score(self, sums: Array) -> Array:
        hyp, ref, match = (sums[..., column::3] for column in range(3))
        orders: Any = hyp.shape[-1]
        masked: dict[str, Any] = {}
        if not (hyp.all() and ref.all()):  # a masked division is slower
            present = (hyp > 0) & (ref > 0)
            orders = np.maximum(present.sum(-1), 1)
            masked = {"where": present, "out": np.zeros_like(match)}
        precision, recall = (
            np.divide(match, whole, **masked).sum(-1) / orders for whole in (hyp, ref)
        )
        weighted = 4 * precision + recall  # β = 2
        some = weighted > 0
        return np.where(some, 500 * precision * recall / np.where(some, weighted, 1), 0)


class Chrf(ChrfPlusPlus):
    """chrF2, 0 to 100, from the counts of chrF2++."""

    name = "chrf"
    label = "chrF"
    in_summary = True

    @override
    def signature_on(self, text: ReferenceText) -> str:
        return _signature(CHRF(), text)

    @override
    def score(self, sums: Array) -> Array:
        return super().score(sums[..., :CHRF_COLUMNS])


class Ter(SacrebleuMetric):
    """The translation edit rate in percent of reference words, from ``edits, words``.

    TER looks for words to shift, which takes a tenth of a second for a long and wrong sentence. Han
    and kana count letter by letter where the tokenizer is one for Chinese or Japanese.
    """

    name = "ter"
    label = "TER (%)"
    better = -1

    @override
    def counter(self, rule: WordRule) -> TER:
        letters = rule.tokenizer in ("zh", "ja-mecab")
        return TER(normalized=letters, asian_support=letters)

    @override
    def score(self, sums: Array) -> Array:
        edits, words = sums[..., 0], sums[..., 1]
        return 100 * np.where(words > 0, edits / np.where(words > 0, words, 1), edits > 0)


TEXT_METRICS: Mapping[str, type[TextMetric]] = {
    kind.name: kind for kind in (Bleu, ExactMatch, Chrf, ChrfPlusPlus, Ter)
}
"""Metrics of translations by name, in the order of the tables."""


def sentence_bleu(statistics: Statistics) -> Array:
    """Return BLEU of each sentence, ``(sentences,)``, with effective order."""
    return bleu(statistics["bleu"], effective_order=True)


def sentence_bleu_signature(text: ReferenceText) -> str:
    """Return sacreBLEU's signature of ``sentence_bleu``."""
    return _signature(text.rules.target.counter(effective_order=True), text)
