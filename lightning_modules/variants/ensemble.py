"""Several trained models that translate together."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.variants.base import DecoderOutput, EncoderDecoder, Limit, Step


class Ensemble(EncoderDecoder):
    """The mean of the probabilities of models of any variants.

    The models have the same vocabularies, and lie on one device. Memory and state are tuples with
    those of each model. Features are those of all models, side by side. Weights are the mean over
    the models with attention.
    """

    def __init__(self, models: Sequence[EncoderDecoder]) -> None:
        super().__init__()
        self.models: Any = nn.ModuleList(models)

    @property
    @override
    def features_size(self) -> int:
        return sum(model.features_size for model in self.models)

    @override
    def encode(self, src: Tensor, src_mask: Tensor) -> tuple[Any, ...]:
        return tuple(model.encode(src, src_mask) for model in self.models)

    @override
    def initial_state(self, memory: tuple[Any, ...]) -> tuple[Any, ...]:
        pairs = zip(self.models, memory, strict=True)
        return tuple(model.initial_state(part) for model, part in pairs)

    @override
    def constant_state(self, memory: tuple[Any, ...], rows: int, positions: int) -> tuple[Any, ...]:
        pairs = zip(self.models, memory, strict=True)
        return tuple(model.constant_state(part, rows, positions) for model, part in pairs)

    @override
    def decode(self, memory: tuple[Any, ...], tgt_in: Tensor) -> DecoderOutput:
        pairs = zip(self.models, memory, strict=True)
        features, weights = zip(*(model.decode(part, tgt_in) for model, part in pairs), strict=True)
        return DecoderOutput(torch.cat(features, -1), _mean_of_present(weights))

    @override
    def step(self, memory: tuple[Any, ...], state: tuple[Any, ...], last_token: Tensor) -> Step:
        each = zip(self.models, memory, state, strict=True)
        steps = [model.step(known, before, last_token) for model, known, before in each]
        features, states, weights = zip(*steps, strict=True)
        return Step(torch.cat(features, -1), states, _mean_of_present(weights))

    @override
    def logits(self, features: Tensor) -> Tensor:
        sizes = [model.features_size for model in self.models]
        pairs = zip(self.models, features.split(sizes, -1), strict=True)
        logs = torch.stack([model.logits(part).log_softmax(-1) for model, part in pairs])
        return logs.logsumexp(0) - math.log(len(sizes))

    @property
    @override
    def is_content_based(self) -> bool:
        return all(model.is_content_based for model in self.models)

    @override
    def limit(self) -> Limit | None:
        limits = [limit for model in self.models if (limit := model.limit()) is not None]
        if not limits:
            return None
        shortest = min(limits, key=lambda limit: limit.src_tokens or math.inf)
        targets = [limit.tgt_tokens for limit in limits if limit.tgt_tokens is not None]
        return shortest._replace(tgt_tokens=min(targets, default=None))


def _mean_of_present(weights: Sequence[Tensor | None]) -> Tensor | None:
    present = [each for each in weights if each is not None]
    return torch.stack(present).mean(0) if present else None
