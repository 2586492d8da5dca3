"""The workloads: each variant as overrides of the harness, and as a bare PyTorch model."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from lightning_modules.runs.provenance import environment, git_commit
from tests.tools.benchmarks.rivals.bare import BareRnn, BareTransformer

MULTI30K = Path(__file__).resolve().parents[4] / "shared" / "data" / "multi30k"
"""Folder of Multi30k; without the folder, the built-in corpus is used."""


class Workload(NamedTuple):
    overrides: list[str]
    bare: Callable[..., nn.Module]
    """Makes the bare model for a vocabulary size and, if given, a ``width`` other than 256."""


def data_overrides() -> list[str]:
    """Return overrides: 2,048 padded tokens a batch, a joint vocabulary of 10,000 subwords."""
    batches = ["batching.max_tokens=2048"]
    if not MULTI30K.is_dir():
        return batches
    joint = ["tokenizer=bpe", "tokenizer.shared=true", "tokenizer.vocabulary_size=10000"]
    return ["data=multi30k", f"data.root={MULTI30K}", *joint, *batches]


def rnn(*overrides: str) -> list[str]:
    """Return overrides for a bidirectional LSTM encoder and an LSTM decoder, both 256 wide."""
    sizes = ["embedding_size", "hidden_size", "encoder.hidden_size", "readout.size"]
    return ["model=luong_general", *(f"model.{size}=256" for size in sizes), *overrides]


NO_FEEDING = "model.input_feeding=false"
ADDITIVE = "model.attention.score=additive"
WORKLOADS = {
    "no attention": Workload(
        rnn("model.attention=null", NO_FEEDING), partial(BareRnn, score="none")
    ),
    "additive, previous state": Workload(
        rnn(ADDITIVE, NO_FEEDING, "model.query.state=previous"),
        partial(BareRnn, score="additive", previous=True),
    ),
    "additive, input feeding": Workload(
        rnn(ADDITIVE), partial(BareRnn, score="additive", feeding=True)
    ),
    "general, input feeding": Workload(rnn(), partial(BareRnn, score="general", feeding=True)),
    "general": Workload(rnn(NO_FEEDING), partial(BareRnn, score="general")),
    "dot": Workload(
        rnn(NO_FEEDING, "model.attention.score=dot", "model.encoder.hidden_size=128"),
        partial(BareRnn, score="dot"),
    ),
    "local-p": Workload(
        rnn(NO_FEEDING, "model.attention.window=local_p", "+model.attention.half_width=10"),
        partial(BareRnn, score="general"),
    ),
    "Transformer": Workload(
        [
            "model=transformer",
            "model.width=256",
            "model.hidden_size=1024",
            "model.encoder_layers=3",
            "model.decoder_layers=3",
        ],
        BareTransformer,
    ),
}


def overrides_at(name: str, width: int) -> list[str]:
    given = WORKLOADS[name].overrides
    scaled = []
    for override in given:
        key, _, value = override.partition("=")
        is_width = value.isdigit() and int(value) >= 128
        scaled.append(f"{key}={int(value) * width // 256}" if is_width else override)
    return scaled


def machine() -> dict[str, Any]:
    description = environment() | {"git_commit": git_commit()}
    if torch.cuda.is_available():
        description["gpu"] = torch.cuda.get_device_name()
    return description
