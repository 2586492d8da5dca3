"""Three systems in both toolkits, and the settings with which both toolkits train them."""

from typing import Any, NamedTuple

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from lightning_modules.training.schedules import inverse_sqrt

WIDTH = 128
LABEL_SMOOTHING, CLIPPED, WARMUP = 0.1, 1.0, 100
"""Both toolkits: smoothing of the loss, largest norm of the gradient, updates of warm-up."""
BATCH = 2010
"""Tokens of a batch here with its padding; JoeyNMT's batches have as many real target tokens."""
RATES = (4e-3, 8e-3, 1.6e-2)  # learning rates of which each system gets the best in its own toolkit
TRAINING = [
    "tokenizer=bpe",
    "tokenizer.shared=true",
    "tokenizer.vocabulary_size=8000",
    f"batching.max_tokens={BATCH}",
    "batching.by_length=false",  # as in JoeyNMT
    "scheduler=inverse_sqrt",
    "scheduler._target_=tests.tools.benchmarks.parity.systems.as_in_joeynmt",
    f"scheduler.warmup_updates={WARMUP}",
    f"label_smoothing={LABEL_SMOOTHING}",
    f"trainer.gradient_clip_val={CLIPPED}",
    "budget=target_tokens",
    "decoding=greedy",
    "logger=none",
    "threads=1",
]
"""Overrides of every training here."""


class Twins(NamedTuple):
    ours: list[str]  # overrides of the harness
    theirs: dict[str, Any]  # settings of JoeyNMT's model


def recurrent(attention: str, width: int) -> dict[str, Any]:
    """Return the model's settings: LSTMs, bidirectional encoder, input feeding."""
    layer = {
        "type": "recurrent",
        "rnn_type": "lstm",
        "embeddings": {"embedding_dim": width},
        "hidden_size": width,
        "num_layers": 1,
        "dropout": 0.0,
    }
    decoder = layer | {"attention": attention, "input_feeding": True, "init_hidden": "bridge"}
    return {"encoder": layer | {"bidirectional": True}, "decoder": decoder}


def transformer(width: int, hidden: int, layers: int, **settings: Any) -> dict[str, Any]:
    """Return the model's settings: as many layers on both sides, four heads."""
    side = {
        "type": "transformer",
        "embeddings": {"embedding_dim": width},
        "num_layers": layers,
        "num_heads": 4,
        "hidden_size": width,
        "ff_size": hidden,
        "dropout": 0.0,
        **settings,
    }
    return {"encoder": side, "decoder": side}


def _recurrent(*overrides: str) -> list[str]:
    sizes = ["embedding_size", "hidden_size", "encoder.hidden_size", "readout.size"]
    return ["model=luong_general", *(f"model.{size}={WIDTH}" for size in sizes), *overrides]


SYSTEMS = {
    "additive": Twins(_recurrent("model.attention.score=additive"), recurrent("bahdanau", WIDTH)),
    "transformer": Twins(
        ["model=transformer", f"model.width={WIDTH}", f"model.hidden_size={2 * WIDTH}"],
        transformer(
            WIDTH,
            2 * WIDTH,
            2,
            layer_norm="pre",
            embeddings={"embedding_dim": WIDTH, "scale": True},
        ),
    ),
    "general": Twins(_recurrent("model.attention.start=random"), recurrent("luong", WIDTH)),
}


def as_in_joeynmt(optimizer: Optimizer, warmup_updates: int) -> LambdaLR:
    """Train the first update with the whole rate, since JoeyNMT's schedule begins after it.

    All further updates have the rates of ``inverse_sqrt``.
    """
    [factor] = inverse_sqrt(optimizer, warmup_updates=warmup_updates).lr_lambdas
    for group in optimizer.param_groups:
        group["lr"] = group.pop("initial_lr")  # the schedule above has changed it
    return LambdaLR(optimizer, lambda update: factor(update) if update else 1.0)
