"""Greedy search, batched over sentences."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import Request
from lightning_modules.decoding.stepped import StepChoice, SteppedSearch
from lightning_modules.variants.base import EncoderDecoder, Step


class Prefixes(NamedTuple):
    """The translation of each sentence so far, on the device; each is ``(sentences,)``."""

    sentences: Tensor  # number of the sentence in the first batch
    limits: Tensor  # length limit in tokens
    rows: Tensor  # row of the step before that each row continues
    tokens: Tensor  # last token
    totals: Tensor  # log-probability
    going: Tensor  # False where the translation has ended
    bounds: Any  # see `Constraints.start`, for a beam of 1


class GreedySearch(SteppedSearch):
    """Take the most probable token at every step; finished sentences leave the batch."""

    @override
    def first(self, request: Request) -> Prefixes:
        limits = request.limits
        every = torch.arange(len(limits), device=limits.device)
        return Prefixes(
            sentences=every,
            limits=limits,
            rows=every,
            tokens=torch.full_like(limits, BOS),
            totals=torch.zeros(len(limits), device=limits.device),
            going=torch.ones_like(limits, dtype=torch.bool),
            bounds=self.constraints.start(request, 1),
        )

    @override
    def advance(
        self,
        model: EncoderDecoder,
        prefixes: Prefixes,
        decoded: Step,
        position: int | Tensor,
        with_prefix: Tensor | None = None,
    ) -> tuple[Prefixes, StepChoice]:
        bounds = prefixes.bounds
        best, next_tokens = self.constraints.best(model, decoded.features, 1, bounds, position)
        scores, tokens = best.squeeze(1), next_tokens.squeeze(1)
        totals = prefixes.totals + scores
        ended = prefixes.going & ((tokens == EOS) | (prefixes.limits == position + 1))
        rows = torch.arange(len(tokens), device=tokens.device)
        after = prefixes._replace(
            rows=rows,
            tokens=tokens,
            totals=totals,
            going=prefixes.going ^ ended,
            bounds=self.constraints.after(bounds, None, next_tokens, position),
        )
        return after, StepChoice(ended, prefixes.sentences, rows, tokens, totals)

    @override
    def going(self, prefixes: Prefixes) -> Tensor:
        return prefixes.going
