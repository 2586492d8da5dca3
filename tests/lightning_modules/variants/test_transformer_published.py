"""The Transformer against PyTorch's modules and the sizes of Vaswani et al. 2017, Table 3."""

import math
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from torch import nn

from lightning_modules.variants import Transformer
from lightning_modules.variants.transformer.heads import MultiHeadAttention
from lightning_modules.variants.transformer.positions import sinusoids
from tests.helpers.variants import CONF, sentences, targets, transformer

LENGTHS = [3, 9, 1, 14]
WIDTH, HEADS, HIDDEN, LAYERS = 16, 4, 32, 3
TABLE_VOCABULARY = 41_000  # gives every row of (A) to (D) its number in Table 3


def near(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    inputs = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in inputs]))
    theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in inputs]))
    theirs.out_proj.load_state_dict(ours.out.state_dict())


def copy_layer(ours: Any, theirs: Any, names: dict[str, str]) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward[2].state_dict())
    for name, other in names.items():
        one, another = getattr(ours, name), getattr(theirs, other)
        if isinstance(one, MultiHeadAttention):
            copy_attention(one, another)
        else:
            another.load_state_dict(one.norm.state_dict())


ENCODER_NAMES = {"mixer": "self_attn", "around_mixer": "norm1", "around_feed_forward": "norm2"}
DECODER_NAMES = {
    "mixer": "self_attn",
    "cross_attention": "multihead_attn",
    "around_mixer": "norm1",
    "around_cross_attention": "norm2",
    "around_feed_forward": "norm3",
}


def reference(model: Transformer, norm: str) -> tuple[nn.Module, nn.Module]:
    """Return PyTorch's encoder and decoder with the weights of ``model``.

    Training mode avoids PyTorch's fast path. As in the paper, there is no norm at the end
    if one follows each sublayer.
    """
    settings: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "norm_first": norm == "before"}
    sizes = (WIDTH, HEADS, HIDDEN)
    norms = [nn.LayerNorm(WIDTH) if norm == "before" else None for _ in range(2)]
    encoder_layer = nn.TransformerEncoderLayer(*sizes, **settings)
    decoder_layer = nn.TransformerDecoderLayer(*sizes, **settings)
    encoder: Any = nn.TransformerEncoder(
        encoder_layer, LAYERS, norms[0], enable_nested_tensor=False
    )
    decoder: Any = nn.TransformerDecoder(decoder_layer, LAYERS, norms[1])
    for ours, theirs, names in (
        (model.encoder, encoder.layers, ENCODER_NAMES),
        (model.decoder, decoder.layers, DECODER_NAMES),
    ):
        for one, other in zip(ours, theirs, strict=True):
            copy_layer(one, other, names)
    if norm == "before":
        encoder.norm.load_state_dict(model.encoder_norm.state_dict())
        decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    return encoder, decoder


@pytest.mark.parametrize("norm", ["before", "after"])
@torch.no_grad()
def test_encoder_and_decoder_equal_pytorchs(norm):
    torch.manual_seed(0)
    layers = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    sizes = {"width": WIDTH, "heads": HEADS, "hidden_size": HIDDEN, **layers}
    model = transformer(**sizes, norm=norm).eval()
    for module in model.modules():  # norms that do nothing would hide a wrong copy
        if isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    encoder, decoder = reference(model, norm)
    src, mask = sentences(LENGTHS)
    tgt = targets(len(LENGTHS), 11)

    def embed(table, tokens):
        return table(tokens) * math.sqrt(WIDTH) + sinusoids(torch.arange(tokens.shape[1]), WIDTH)

    states = encoder(embed(model.src_embedding, src), src_key_padding_mask=~mask)
    causal = torch.ones(11, 11, dtype=torch.bool).triu(1)
    expected = decoder(
        embed(model.tgt_embedding, tgt), states, tgt_mask=causal, memory_key_padding_mask=~mask
    )
    memory = model.encode(src, mask)
    for layer, (keys, values) in zip(model.decoder, memory.layers, strict=True):
        attention: Any = layer.cross_attention
        real = mask[:, None, :, None]
        near(keys * real, attention._split(attention.key(states)) * real)
        near(values * real, attention._split(attention.value(states)) * real)
    near(model.decode(memory, tgt).features, expected)


def millions(model: str, vocabulary: int, *overrides: str) -> float:
    """Return millions of parameters of a shipped model, built on ``meta``.

    ``vocabulary`` is the number of tokens of both languages.
    """
    files = ["transformer_base", model] if model != "transformer_base" else [model]
    config = OmegaConf.merge(
        {"scale": 1, "fine_scale": 1},
        *(OmegaConf.load(CONF / "model" / f"{name}.yaml") for name in files),
        OmegaConf.from_dotlist(list(overrides)),
    )
    settings: Any = OmegaConf.to_container(config.model, resolve=True)
    del settings["_target_"]
    with torch.device("meta"):
        built = Transformer(vocabulary, vocabulary, **settings)
    return sum(parameter.numel() for parameter in built.parameters()) / 1e6


@pytest.mark.parametrize(
    ("model", "published"), [("transformer_base", 65), ("transformer_big", 213)]
)
def test_base_and_big_have_about_the_parameters_of_table_3(model, published):
    """Section 5.1: a shared vocabulary of about 37,000 tokens."""
    assert millions(model, 37_000) == pytest.approx(published, rel=0.04)


@pytest.mark.parametrize(
    ("published", "overrides"),
    [
        (65, []),
        (58, ["model.key_size=16"]),
        (60, ["model.key_size=32"]),
        (36, ["model.encoder_layers=2", "model.decoder_layers=2"]),
        (50, ["model.encoder_layers=4", "model.decoder_layers=4"]),
        (80, ["model.encoder_layers=8", "model.decoder_layers=8"]),
        (28, ["model.width=256"]),
        (168, ["model.width=1024"]),
        (53, ["model.hidden_size=1024"]),
        (90, ["model.hidden_size=4096"]),
    ],
)
def test_rows_of_table_3_have_their_parameters(published, overrides):
    """The numbers of the paper to their last digit, at 41,000 tokens.

    At the 37,000 of section 5.1 each row lacks about 4,000 vectors of its width, up to 6.4% of the
    row (two layers: 33.7; d_ff 1024: 50.5; d_model 256: 26.9), and "big" lacks none. Differences
    between rows are therefore right, and the vocabulary of these runs was larger than in the text.
    """
    assert abs(millions("transformer_base", TABLE_VOCABULARY, *overrides) - published) <= 0.5
    at_37k = millions("transformer_base", 37_000, *overrides)
    assert at_37k == pytest.approx(published, rel=0.065)


@pytest.mark.parametrize("heads", [1, 4, 16, 32])
def test_heads_share_one_size(heads):
    """Table 3 (A): the number of heads changes no number of parameters."""
    assert millions("transformer_base", 37_000, f"model.heads={heads}") == millions(
        "transformer_base", 37_000
    )


def test_learned_positions_are_one_table_a_side():
    """Table 3 (E)."""
    learned = millions("transformer_base", 37_000, "model.positions=learned")
    assert learned - millions("transformer_base", 37_000) == pytest.approx(2 * 1024 * 512 / 1e6)
