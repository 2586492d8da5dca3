"""Recurrent models of odd small sizes in float64, and their inputs."""

from typing import Any

import torch
from torch import nn

from lightning_modules.variants import Recurrent
from tests.helpers import variants

VOCABULARY = 13
TGT = 62
PLAIN: dict[str, Any] = {
    "embedding_size": 5,
    "hidden_size": 6,
    "cell": "gru",
    "layers": 1,
    "encoder": {"hidden_size": 4},
    "bridge": "dense",
    "readout": {"kind": "tanh", "size": 3},
}
GENERAL: dict[str, Any] = {"score": "general"}
PREVIOUS: dict[str, Any] = {"state": "previous"}
FLAGS: dict[str, Any] = {"context": True, "last_token": True, "language": True}


ABSENT: dict[str, Any] = {
    "encoder": {"bidirectional": False, "merge": "concat", "reverse_source": False},
    "readout": {"size": None, "state": "current", "last_token": False},
    "query": {"state": "current", "context": False, "last_token": False, "language": False},
    **dict.fromkeys(("attention", "intra_attention", "initial_range")),
    **dict.fromkeys(("summary", "input_feeding"), False),
    "dropout": 0.0,
    "tied": "none",
    "placement": {},
}
"""Settings of a model that has nothing of what tests leave out."""


def recurrent(
    settings: dict[str, Any], src_vocabulary: int = VOCABULARY, tgt_vocabulary: int = VOCABULARY
) -> Recurrent:
    """A model with torch's initial weights; settings that are left out are absent parts."""
    groups = {
        group: ABSENT[group] | settings.get(group, {}) for group in ("encoder", "readout", "query")
    }
    return Recurrent(src_vocabulary, tgt_vocabulary, **(ABSENT | settings | groups))


def build(settings: dict[str, Any], seed: int = 0) -> Recurrent:
    """A model in float64, its parameters large enough to show differences."""
    settings = {key: value for key, value in settings.items() if key != "_target_"}
    torch.manual_seed(seed)
    model = recurrent(settings)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.8, 0.8)
    return model.double().eval()


def sources(lengths: list[int], width: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    return variants.sentences(lengths, 1, width, VOCABULARY)


def targets(batch: int, length: int = TGT) -> torch.Tensor:
    return variants.targets(batch, length, 2, VOCABULARY)


@torch.no_grad()
def teacher_forced(model, src, mask, tgt):
    features, weights = model.decode(model.encode(src, mask), tgt)
    return model.logits(features), weights


@torch.no_grad()
def stepwise(model, src, mask, tgt):
    memory = model.encode(src, mask)
    state, steps = model.initial_state(memory), []
    for tokens in tgt.unbind(1):
        steps.append(model.step(memory, state, tokens))
        state = steps[-1].state
    weights = None if steps[0].weights is None else torch.stack([s.weights for s in steps], 1)
    return torch.stack([model.logits(step.features) for step in steps], 1), weights
