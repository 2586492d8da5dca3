"""Greedy search, batched over sentences."""

from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import best_tokens
from lightning_modules.decoding.stepped import StepChoice, SteppedSearch
from lightning_modules.variants.base import EncoderDecoder


class Prefixes(NamedTuple):
    """The translation of each sentence so far, on the device; each is ``(sentences,)``."""

    sentences: Tensor  # number of the sentence in the first batch
    limits: Tensor  # length limit in tokens
    rows: Tensor  # row of the step before that each row continues
    tokens: Tensor  # last token
    totals: Tensor  # log-probability
    going: Tensor  # False where the translation has ended


class GreedySearch(SteppedSearch):
    """Take the most probable token at every step; finished sentences leave the batch."""

    @override
    def first(self, limits: Tensor) -> Prefixes:
        every = torch.arange(len(limits), device=limits.device)
        return Prefixes(
            sentences=every,
            limits=limits,
            rows=every,
            tokens=torch.full_like(limits, BOS),
            totals=torch.zeros(len(limits), device=limits.device),
            going=torch.ones_like(limits, dtype=torch.bool),
        )

    @override
    def advance(
        self,
        model: EncoderDecoder,
        prefixes: Prefixes,
        features: Tensor,
        position: int | Tensor,
        with_prefix: Tensor | None = None,
    ) -> tuple[Prefixes, StepChoice]:
        scores, tokens = (best.squeeze(1) for best in best_tokens(model, features, 1))
        totals = prefixes.totals + scores
        ended = prefixes.going & ((tokens == EOS) | (prefixes.limits == position + 1))
        rows = torch.arange(len(tokens), device=tokens.device)
        after = prefixes._replace(
            rows=rows, tokens=tokens, totals=totals, going=prefixes.going ^ ended
        )
        return after, StepChoice(ended, prefixes.sentences, rows, tokens, totals)

    @override
    def going(self, prefixes: Prefixes) -> Tensor:
        return prefixes.going
