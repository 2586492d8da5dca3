"""Small instances of every shipped variant, and sentences to feed them."""

from pathlib import Path

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from torch import Tensor

from datamodules.tokenization import BOS, EOS
from lightning_modules.building import build_model
from lightning_modules.variants import EncoderDecoder

CONF = Path(__file__).parent.parent / "conf"
NAMES = sorted(path.stem for path in (CONF / "model").glob("*.yaml"))
"""Every file of ``conf/model``: a new variant is tested by being there."""

# Settings that the shipped files do not take but users may.
OPTIONS = {
    "seq2seq_reversed_lstm": (
        "seq2seq",
        ["model.cell=lstm", "model.layers=2", "model.reverse_source=true"],
    ),
    "bahdanau_general": ("bahdanau", ["model.attention.score=general"]),
    "luong_dot": ("luong_global", ["model.attention.score=dot", "model.layers=2"]),
    "luong_concat": ("luong_global", ["model.attention.score=concat", "model.cell=gru"]),
    "luong_no_feeding": (
        "luong_global",
        ["model.input_feeding=false", "model.reverse_source=true"],
    ),
    "luong_unidirectional": ("luong_global", ["model.bidirectional=false", "model.layers=2"]),
    "luong_local_p": ("luong_local", ["model.attention.window=local_p"]),
    "luong_local_p_no_feeding": (
        "luong_local",
        ["model.attention.window=local_p", "model.input_feeding=false"],
    ),
    "luong_local_p_renormalised": (
        "luong_local",
        ["model.attention.window=local_p", "model.attention.renormalise=true"],
    ),
    "luong_narrow": ("luong_local", ["model.attention.half_width=1"]),
    "transformer_post_norm": ("transformer", ["model.pre_norm=false"]),
}
ALL = [*NAMES, *OPTIONS]
VOCABULARY = 23
SMALL = {"width": 16, "hidden_size": 24}


def configuration(*overrides: str) -> DictConfig:
    """Compose the shipped configuration as the command line would."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


def small_model(name: str, *overrides: str, vocabulary: int = VOCABULARY) -> EncoderDecoder:
    """Build a shipped or optional variant, narrow, with fixed random weights."""
    model, options = OPTIONS.get(name, (name, []))
    sizes = [f"model.{key}={value}" for key, value in SMALL.items()]
    config = configuration(f"model={model}", *sizes, *options, *overrides)
    torch.manual_seed(0)
    built = build_model(config, vocabulary, vocabulary)
    for parameter in built.parameters():  # larger weights make differences visible
        parameter.data.mul_(2)
    return built.eval()


def sentences(lengths: list[int], seed: int = 0, width: int | None = None) -> tuple[Tensor, Tensor]:
    """Random source ids and mask ``(len(lengths), width)``; each ends with EOS."""
    generator = torch.Generator().manual_seed(seed)
    width = width or max(lengths)
    src = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        src[row, :length] = torch.randint(4, VOCABULARY, (length,), generator=generator)
        src[row, length - 1] = EOS
    return src, torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def targets(batch: int, length: int, seed: int = 1) -> Tensor:
    """Random target input ``(batch, length)`` that begins with BOS."""
    generator = torch.Generator().manual_seed(seed)
    tgt = torch.randint(4, VOCABULARY, (batch, length), generator=generator)
    tgt[:, 0] = BOS
    return tgt
