"""The Transformer and its positions against the equations of their papers."""

from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn

from datamodules.tokenization import BOS
from lightning_modules.variants import Transformer
from lightning_modules.variants.transformer.positions import (
    AttentionPositions,
    LearnedPositions,
    Positions,
    Rotary,
    ShiftedSinusoids,
    bucket,
    sinusoids,
    slopes,
)
from tests.helpers.variants import sentences, targets, transformer
from tests.reference import arrays
from tests.reference import positions as positions_reference
from tests.reference.transformer import decode

SEVEN = [1, 2, 5, 13, 27, 44, 60]


TGT = 9


SHAPE: dict[str, Any] = {
    "width": 8,
    "heads": 2,
    "hidden_size": 12,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "positions": "sinusoidal",
    "max_length": 64,
    "decoder_positions": None,
    "max_shift": 30,
    "relative_distance": 3,
    "bias_buckets": 6,
    "bias_distance": 9,
    "norm": "before",
    "encoder_mixer": "attention",
    "decoder_mixer": "attention",
    "cross_attention": "every",
    "residual": True,
}


KINDS = get_args(Positions)


def build(settings: dict[str, Any]) -> Transformer:
    torch.manual_seed(0)
    model = transformer(**settings)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.8, 0.8)
    return model.double().eval()


def compare(settings: dict[str, Any], lengths: list[int], padding: int, tgt: torch.Tensor) -> None:
    model = build(settings)
    src, mask = sentences(lengths, width=max(lengths) + padding)
    with torch.no_grad():
        features, weights = model.decode(model.encode(src, mask), tgt)
        logits = model.logits(features)
    assert weights is not None
    parameters = arrays(model)
    for row, length in enumerate(lengths):
        expected = decode(parameters, settings, src[row, :length].tolist(), tgt[row].tolist())
        for actual, target in zip((logits[row], weights[row, :, :length]), expected, strict=True):
            np.testing.assert_allclose(actual.numpy(), target, rtol=0, atol=1e-9)
        assert not weights[row, :, length:].any()


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("padding", [0, 3])
def test_a_batch_equals_the_equations(positions, norm, padding):
    settings = SHAPE | {"positions": positions, "norm": norm}
    compare(settings, SEVEN, padding, targets(len(SEVEN), TGT))


@pytest.mark.parametrize(
    "parts",
    [
        {"encoder_mixer": "gru", "decoder_mixer": "lstm"},
        {"encoder_mixer": "lstm", "decoder_mixer": "gru", "cross_attention": "last"},
        {"encoder_mixer": "gru", "residual": False, "norm": "after"},
        {"decoder_mixer": "gru", "residual": False, "norm": "before"},
        {"hidden_size": None, "norm": "none"},
        {"decoder_mixer": "retention"},
        {"encoder_mixer": "retention", "decoder_mixer": "gated_linear", "positions": "none"},
        {"encoder_mixer": "gated_linear", "decoder_mixer": "gated_delta"},
        {"encoder_mixer": "gated_delta", "decoder_mixer": "mamba2"},
        {"encoder_mixer": "mamba2"},
        {
            "encoder_mixer": "gru",
            "decoder_mixer": "gru",
            "cross_attention": "last",
            "residual": False,
            "norm": "none",
            "hidden_size": None,
            "positions": "none",
        },
    ],
    ids=str,
)
@pytest.mark.parametrize("padding", [0, 3])
def test_what_lies_between_an_rnn_and_a_transformer_equals_the_equations(parts, padding):
    compare(SHAPE | parts, SEVEN, padding, targets(len(SEVEN), TGT))


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize(("length", "tgt"), [(1, 1), (2, 17), (31, 60)])
def test_one_sentence_equals_the_equations(positions, length, tgt):
    sizes = {"heads": 3, "key_size": 4, "value_size": 5, "encoder_layers": 1, "decoder_layers": 3}
    for padding in (0, 2):
        compare(SHAPE | sizes | {"positions": positions}, [length], padding, targets(1, tgt))


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [("alibi", "t5"), ("t5", "alibi"), ("rotary", "none"), ("gru", "learned"), ("shifted", "lstm")],
)
def test_each_side_has_its_own_positions(encoder, decoder):
    settings = SHAPE | {"positions": encoder, "decoder_positions": decoder}
    compare(settings, SEVEN, 2, targets(len(SEVEN), TGT))
    same = SHAPE | {"positions": encoder, "decoder_positions": encoder}
    one, other = build(same).state_dict(), build(SHAPE | {"positions": encoder}).state_dict()
    assert all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize("buckets", [4, 6, 8, 32])
@pytest.mark.parametrize("most", [17, 20, 128])
@pytest.mark.parametrize("causal", [True, False])
def test_buckets_of_distances_are_t5s(buckets, most, causal):
    for offset in range(-most - 40, 1 if causal else most + 40):
        clamped = max(-most, min(most, offset))
        expected = positions_reference.bucket(0, offset, buckets, most, causal)
        assert bucket(clamped, buckets, most, causal) == expected


def test_buckets_of_t5_begin_where_the_paper_says():
    """32 buckets up to 128: in one direction 16 exact distances, then ranges that grow."""
    firsts = [bucket(-distance, 32, 128, causal=True) for distance in (0, 15, 16, 32, 64, 127, 128)]
    assert firsts == [0, 15, 16, 21, 26, 31, 31]
    both = [bucket(offset, 32, 128, causal=False) for offset in (-128, -8, -1, 0, 1, 8, 128)]
    assert both == [15, 8, 1, 0, 17, 24, 31]


@pytest.mark.parametrize("heads", range(1, 18))
def test_slopes_are_alibis(heads):
    found = slopes(heads, torch.device("cpu"), torch.float64)
    np.testing.assert_allclose(found.numpy(), positions_reference.slopes(heads), rtol=1e-12)


def test_layers_of_a_side_share_the_bias_of_t5():
    model = transformer(positions="t5", encoder_layers=3, decoder_layers=2)
    tables = {name for name, _ in model.named_parameters() if name.endswith("positions.table")}
    assert tables == {"encoder.0.mixer.positions.table", "decoder.0.mixer.positions.table"}


@torch.no_grad()
def test_positions_are_shifted_by_one_number_for_each_sentence_in_training_alone():
    torch.manual_seed(0)
    shifted, zeros = ShiftedSinusoids(20), torch.zeros(300, 5, 6, dtype=torch.float64)
    places = torch.arange(5)
    table = sinusoids(torch.arange(25), 6, torch.float64)
    encoded = shifted.train()(zeros, places)
    starts = (encoded[:, :1] - table).abs().sum(-1).argmin(1)
    torch.testing.assert_close(encoded, table[starts.unsqueeze(1) + places])
    assert set(starts.tolist()) == set(range(21))  # 300 draws miss one of 21 with p < 1e-5
    assert shifted.eval()(zeros, places).equal(table[:5].expand(300, 5, 6))


@torch.no_grad()
def test_packed_sentences_are_shifted_each_by_one_number():
    torch.manual_seed(0)
    lengths = [3, 1, 7, 2, 5]
    places = torch.cat([torch.arange(length) for length in lengths])
    table = sinusoids(torch.arange(1000), 6, torch.float64)
    encoded = ShiftedSinusoids(900).train()(torch.zeros(18, 6, dtype=torch.float64), places)
    found = (encoded.unsqueeze(1) - table).abs().sum(-1).argmin(1) - places
    starts = [part.unique().tolist() for part in found.split(lengths)]
    assert [len(each) for each in starts] == [1] * 5
    assert len({start for [start] in starts}) == 5


@pytest.mark.parametrize("tied", ["output", "all"])
def test_tied_tables_equal_the_equations(tied):
    compare(SHAPE | {"tied": tied}, [4], 0, torch.tensor([[BOS, 5, 6]]))


@torch.no_grad()
def test_rotary_energies_depend_on_distance_only():
    query, key = torch.randn(2, 1, 1, 7, 6, dtype=torch.float64)
    rotate, places = Rotary().rotate, torch.arange(7)
    energies = [
        rotate(query, start + places) @ rotate(key, start + places).transpose(-1, -2)
        for start in (0, 1, 40)
    ]
    for shifted in energies[1:]:
        torch.testing.assert_close(shifted, energies[0], rtol=0, atol=1e-12)
    assert not torch.allclose(energies[0], query @ key.transpose(-1, -2), atol=0.1)


@torch.no_grad()
def test_positions_beyond_the_learned_share_the_last():
    learned = LearnedPositions(6, max_length=4)
    encoded = learned(torch.zeros(1, 9, 6), torch.arange(9))[0]
    torch.testing.assert_close(encoded[:4], learned.table.weight)
    torch.testing.assert_close(encoded[4:], learned.table.weight[3].expand(5, 6))
    torch.testing.assert_close(learned(torch.zeros(1, 2, 6), torch.arange(2, 4))[0], encoded[2:4])


@pytest.mark.parametrize("kind", get_args(Positions))
def test_attention_to_the_source_knows_no_positions(kind):
    model = transformer(positions=kind)
    for layer in model.decoder:
        assert type(layer.cross_attention.positions) is AttentionPositions


@torch.no_grad()
def test_without_positions_the_encoder_does_not_know_the_order_of_the_source():
    torch.manual_seed(0)
    model = transformer(positions="none").double().eval()
    src, order = torch.tensor([[5, 9, 7, 11]]), torch.tensor([2, 0, 3, 1])
    mask = torch.ones_like(src, dtype=torch.bool)
    straight, shuffled = (model.encode(each, mask).layers for each in (src, src[:, order]))
    for one, other in zip(straight, shuffled, strict=True):
        torch.testing.assert_close(other.keys, one.keys[:, :, order])
