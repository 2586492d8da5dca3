"""Minimum Bayes risk: of several candidates, the one that the others resemble most."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor
from typing_extensions import override

from datamodules.tokenization import Tokenizer
from lightning_modules.decoding.sampling import SamplingSearch
from lightning_modules.decoding.search import Backpointers, HypothesisEnd, Request, Search
from lightning_modules.variants.base import EncoderDecoder

Utility = Callable[[str, str], float]
"""How good a translation is if another one is right, from 0 to 100."""


def utility(name: Literal["chrf", "bleu"]) -> Utility:
    """Return sacreBLEU's score of a sentence: chrF (Popović 2015), or BLEU of effective order."""
    metric: Any = CHRF() if name == "chrf" else BLEU(effective_order=True)
    return lambda hypothesis, reference: float(metric.sentence_score(hypothesis, [reference]).score)


class MinimumBayesRisk(Search):
    """Return the candidates with the highest expected utility.

    The expectation of a candidate's utility is taken over all candidates in place of the unknown
    reference: samples count alike (Eikema and Aziz 2020, arXiv 2005.10283), the hypotheses of
    another search by their scores as logits (Kumar and Byrne 2004, N04-1022). Scores of hypotheses
    are expected utilities. Candidates with the same text count as one, with their weights added.

    Args:
        candidates: search for the candidates; its settings hold for the whole search.
        utility: name of the utility, ``chrf`` or ``bleu``, computed on words, not on tokens.
        n_best: number of translations returned for each sentence, fewer if fewer differ.

    Raises ``ValueError`` for ``n_best`` above the number of candidates.
    """

    def __init__(self, candidates: Search, utility: Literal["chrf", "bleu"], n_best: int) -> None:
        self.constrains = candidates.constrains
        super().__init__(
            max_ratio=candidates.max_ratio,
            max_extra=candidates.max_extra,
            min_length=candidates.min_length,
            no_repeat_ngram=candidates.no_repeat_ngram,
            length=candidates.length,
            bf16=candidates.bf16,
            int8=candidates.int8,
        )
        number = getattr(candidates, "n_best", 1)
        if n_best > number:
            raise ValueError(
                f"decoding.n_best={n_best}: must be at most decoding.candidates.n_best={number}"
            )
        self.candidates, self.utility, self.n_best = candidates, utility, n_best
        self._target: Tokenizer | None = None

    @override
    def prepare(self, model: EncoderDecoder, target: Tokenizer) -> None:
        self._target = target
        self.candidates.prepare(model, target)

    @override
    def padded(self, model: EncoderDecoder, src: Tensor, src_mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.candidates.padded(model, src, src_mask)

    @override
    def encode(self, model: EncoderDecoder, src: Tensor, src_mask: Tensor) -> Any:
        return self.candidates.encode(model, src, src_mask)

    @override
    def search(
        self, model: EncoderDecoder, memory: Any, request: Request, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        assert self._target is not None
        found = self.candidates.search(model, memory, request, backpointers)
        tokens = backpointers.tokens([end for ends in found for end in ends])
        texts = iter(self._target.decode(tokens))
        return [self._ranked(ends, [next(texts) for _ in ends]) for ends in found]

    def _ranked(self, ends: Sequence[HypothesisEnd], texts: Sequence[str]) -> list[HypothesisEnd]:
        first: dict[str, HypothesisEnd] = {}
        weights: dict[str, float] = {}
        for end, text, weight in zip(ends, texts, self._weights(ends), strict=True):
            first.setdefault(text, end)
            weights[text] = weights.get(text, 0.0) + weight
        expected = expected_utilities(weights, utility(self.utility))
        ranked = [end._replace(score=expected[text]) for text, end in first.items()]
        return sorted(ranked, key=lambda end: -end.score)[: self.n_best]

    def _weights(self, ends: Sequence[HypothesisEnd]) -> list[float]:
        """Return the probability of each candidate to be right; they sum to 1."""
        if isinstance(self.candidates, SamplingSearch):
            return [1 / len(ends)] * len(ends)
        best = max(end.score for end in ends)
        odds = [math.exp(end.score - best) for end in ends]
        return [each / sum(odds) for each in odds]


def expected_utilities(weights: dict[str, float], score: Utility) -> dict[str, float]:
    """Return the mean utility of each text if each text is right with its weight."""
    return {
        text: sum(weight * score(text, other) for other, weight in weights.items())
        for text in weights
    }
