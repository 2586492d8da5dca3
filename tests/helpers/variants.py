"""Small instances of every shipped variant, and sentences to feed them."""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from datamodules.tokenization import BOS, EOS
from lightning_modules.training.factories import build_model
from lightning_modules.training.flops import Flops, count_flops
from lightning_modules.training.size_search import build_to_count
from lightning_modules.variants import EmbeddedEncoderDecoder, Transformer
from sweeps.launch.resolvers import register

CONF = Path(__file__).parents[2] / "conf"
NAMES = sorted(path.stem for path in (CONF / "model").glob("*.yaml"))
"""Every file of ``conf/model``: a new variant is tested by being there."""

FAMILY = OmegaConf.load(CONF / "comparison" / "family.yaml")
LAPTOP = FAMILY.hydra.sweeper.params.model.replace(" ", "").split(",")
"""The laptop sizes of every published system and of further scores."""

LADDER = OmegaConf.load(CONF / "comparison" / "ladder.yaml")
STEPS = LADDER.hydra.sweeper.params.model.replace(" ", "").split(",")
"""The steps from Bahdanau to the Transformer."""

LENGTH = OmegaConf.load(CONF / "comparison" / "length.yaml")
POSITIONS = LENGTH.hydra.sweeper.params.model.split(",")
"""Transformers with different positions, and Bahdanau."""

# Settings that the shipped files do not take but users may.
OPTIONS = {
    "lstm_with_summary": ("seq2seq", ["model.cell=lstm", "model.layers=2"]),
    "bahdanau_general": ("bahdanau", ["model.attention.score=general"]),
    "bahdanau_2014": ("bahdanau", ["model.cell=gru_2014", "model.layers=2"]),
    "bahdanau_sum": (
        "bahdanau",
        ["model.encoder.merge=sum", "model.bridge=copy", "model.attention.score=cosine"],
    ),
    "bahdanau_multi_head": (
        "bahdanau",
        ["model.attention.score=scaled_dot", "+model.attention.heads=4"],
    ),
    "luong_gru": ("luong_global", ["model.attention.score=concat", "model.cell=gru"]),
    "luong_linear_plain": ("luong_linear", ["model.attention.activation=none"]),
    "luong_query_flags": (
        "luong_general",
        ["model.query.context=true", "model.query.last_token=true", "model.query.language=true"],
    ),
    "luong_location_heads": ("luong_location", ["+model.attention.heads=2"]),
    "luong_intra": ("luong_global", ["model.intra_attention={score:general}"]),
    "luong_intra_no_feeding": (
        "luong_global",
        ["model.intra_attention={score:additive}", "model.input_feeding=false"],
    ),
    "luong_no_feeding": (
        "luong_global",
        ["model.input_feeding=false", "model.encoder.reverse_source=true"],
    ),
    "luong_local_p_no_feeding": ("luong_predictive", ["model.input_feeding=false"]),
    "luong_local_p_random": ("luong_predictive", ["model.attention.start=random"]),
    "luong_local_p_renormalised": ("luong_predictive", ["model.attention.renormalise=true"]),
    "luong_narrow": ("luong_local", ["model.attention.half_width=1"]),
    "luong_tied": ("luong_global", ["model.tied=output"]),
    "transformer_post_norm": ("transformer", ["model.norm=after"]),
    "transformer_lstm_decoder": ("transformer", ["model.decoder_mixer=lstm"]),
    "transformer_lstm_encoder": ("transformer", ["model.encoder_mixer=lstm"]),
    "transformer_few_parts": (
        "transformer",
        ["model.cross_attention=last", "model.residual=false", "model.hidden_size=null"],
    ),
    "transformer_learned": ("transformer", ["model.positions=learned"]),
    "transformer_rotary": ("transformer", ["model.positions=rotary"]),
    "transformer_relative": ("transformer", ["model.positions=relative", "model.key_size=6"]),
    "transformer_t5": ("transformer", ["model.positions=t5", "model.bias_distance=20"]),
    "transformer_alibi": ("transformer", ["model.positions=alibi"]),
    "transformer_rnn_positions": (
        "transformer",
        ["model.positions=gru", "model.decoder_positions=lstm"],
    ),
    "transformer_positions_apart": (
        "transformer",
        ["model.positions=rotary", "model.decoder_positions=none"],
    ),
}
ALL = [*NAMES, *OPTIONS]
VOCABULARY = 23
LARGEST = 24  # approximate width of a small model's largest layer


def configuration(*overrides: str) -> DictConfig:
    """Compose the shipped configuration as the command line would."""
    return _composed(overrides).copy()


@cache
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    """Compose each configuration once: composing takes longer than most tests."""
    register()  # programs have no conftest
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


def small_model(name: str, *overrides: str, vocabulary: int = VOCABULARY) -> EmbeddedEncoderDecoder:
    """Build a shipped or optional variant, narrow, with fixed random weights."""
    model, options = OPTIONS.get(name, (name, []))
    widths = configuration(f"model={model}").model
    scale = LARGEST / widths.get("width", widths.hidden_size)
    given = [f"model={model}", f"scale={scale}", "tokenizer.shared=true"]
    config = configuration(*given, *options, *overrides)
    torch.manual_seed(0)
    built = build_model(config, vocabulary, vocabulary)
    assert isinstance(built, EmbeddedEncoderDecoder)
    for parameter in built.parameters():  # larger weights make differences visible
        parameter.data.mul_(2)
    return built.eval()


def transformer(vocabulary: int = VOCABULARY, **options: Any) -> Transformer:
    """A Transformer with torch's initial weights, of small sizes where none are given."""
    sizes = {"width": 16, "heads": 2, "hidden_size": 24, "encoder_layers": 2, "decoder_layers": 2}
    ranges = {"key_size": None, "value_size": None, "max_length": 1024, "relative_distance": 16}
    ranges |= {"max_shift": 30, "bias_buckets": 8, "bias_distance": 12}
    form = {"norm": "before", "positions": "sinusoidal", "tied": "none", "dropout": 0.0}
    form |= {"decoder_positions": None}
    parts = {"encoder_mixer": "attention", "decoder_mixer": "attention", "cross_attention": "every"}
    given: dict[str, Any] = {"residual": True, "placement": {}}
    vocabularies = {"src_vocabulary": vocabulary, "tgt_vocabulary": vocabulary}
    return Transformer(**{**sizes, **ranges, **form, **parts, **given, **vocabularies, **options})


def sentences(
    lengths: list[int], seed: int = 0, width: int | None = None, vocabulary: int = VOCABULARY
) -> tuple[Tensor, Tensor]:
    """Random source ids and mask ``(len(lengths), width)``; each ends with EOS."""
    generator = torch.Generator().manual_seed(seed)
    width = width or max(lengths)
    src = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        src[row, :length] = torch.randint(4, vocabulary, (length,), generator=generator)
        src[row, length - 1] = EOS
    return src, torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    """Random normal numbers, equal for equal seeds."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def targets(batch: int, length: int, seed: int = 1, vocabulary: int = VOCABULARY) -> Tensor:
    """Random target input ``(batch, length)`` that begins with BOS."""
    generator = torch.Generator().manual_seed(seed)
    tgt = torch.randint(4, vocabulary, (batch, length), generator=generator)
    tgt[:, 0] = BOS
    return tgt


def flops_of(config: DictConfig, *sizes: int) -> Flops:
    """Count the FLOPs of the variant of a configuration, for two sizes of vocabularies."""
    return count_flops(build_to_count(config, sizes), config.teacher_forcing)
