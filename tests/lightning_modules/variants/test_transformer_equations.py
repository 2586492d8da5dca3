"""The Transformer and its positions against the equations of their papers."""

import math
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn

from datamodules.tokenization import BOS
from lightning_modules.variants import Transformer
from lightning_modules.variants.transformer.heads import (
    AttentionPositions,
    LearnedPositions,
    MultiHeadAttention,
    Positions,
    Relative,
    Rotary,
    sinusoids,
)
from tests.helpers.variants import sentences, targets, transformer
from tests.reference import arrays
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
    "relative_distance": 3,
    "pre_norm": True,
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


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("padding", [0, 3])
def test_a_batch_equals_the_equations(positions, pre_norm, padding):
    settings = SHAPE | {"positions": positions, "pre_norm": pre_norm}
    compare(settings, SEVEN, padding, targets(len(SEVEN), TGT))


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize(("length", "tgt"), [(1, 1), (2, 17), (31, 60)])
def test_one_sentence_equals_the_equations(positions, length, tgt):
    sizes = {"heads": 3, "key_size": 4, "value_size": 5, "encoder_layers": 1, "decoder_layers": 3}
    for padding in (0, 2):
        compare(SHAPE | sizes | {"positions": positions}, [length], padding, targets(1, tgt))


@pytest.mark.parametrize("tied", ["output", "all"])
def test_tied_tables_equal_the_equations(tied):
    compare(SHAPE | {"tied": tied}, [4], 0, torch.tensor([[BOS, 5, 6]]))


def test_sinusoids_are_those_of_the_paper():
    """Vaswani et al. 2017, section 3.5, written out."""
    encoded = sinusoids(torch.tensor([0, 3, 100]), 6)
    for row, position in enumerate([0, 3, 100]):
        for index in range(3):
            angle = position / 10000 ** (2 * index / 6)
            assert encoded[row, 2 * index].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert encoded[row, 2 * index + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


@torch.no_grad()
def test_rotary_turns_pairs_as_the_matrix_of_the_paper():
    """Su et al. 2021, eq. 15, for positions 5, 6 and 7."""
    heads = torch.randn(1, 1, 3, 6, dtype=torch.float64)
    turned = Rotary().rotate(heads, torch.arange(5, 5 + heads.shape[2]))
    for index, position in enumerate([5, 6, 7]):
        matrix = np.zeros((6, 6))
        for pair in range(3):
            angle = position * 10000 ** (-2 * pair / 6)
            sine, cosine = math.sin(angle), math.cos(angle)
            matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = [
                [cosine, -sine],
                [sine, cosine],
            ]
        expected = matrix @ heads[0, 0, index].numpy()
        np.testing.assert_allclose(turned[0, 0, index].numpy(), expected, rtol=0, atol=1e-12)


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


@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_relative_energies_are_those_of_the_paper(causal):
    """Shaw et al. 2018, eq. 4 and 5 (keys' part), as a loop: e_ij = q_i · (k_j + a_ij) / √d_k."""
    torch.manual_seed(0)
    length, heads, key_size, distance = 9, 2, 6, 3
    positions = Relative(key_size, distance)
    attention = MultiHeadAttention(16, heads, key_size, 10, positions).double()
    inputs = torch.randn(2, length, 16, dtype=torch.float64)
    memory = attention.prepare(inputs)
    _, averaged = attention(inputs, memory, causal=causal, need_weights=True)
    query = attention._split(attention.query(inputs)).numpy()
    keys, table = memory.keys.numpy(), positions.table.numpy()
    for sentence, i in product(range(2), range(length)):
        total = np.zeros(length)
        for head in range(heads):
            energies = np.full(length, -np.inf)
            for j in range(i + 1 if causal else length):
                vector = table[max(-distance, min(distance, j - i)) + distance]
                key = keys[sentence, head, j] + vector
                energies[j] = query[sentence, head, i] @ key / math.sqrt(key_size)
            total += np.exp(energies) / np.exp(energies).sum() / heads
        np.testing.assert_allclose(averaged[sentence, i].numpy(), total, rtol=0, atol=1e-9)


@torch.no_grad()
def test_positions_beyond_the_learned_share_the_last():
    learned = LearnedPositions(6, max_length=4)
    encoded = learned(torch.zeros(1, 9, 6), 0)[0]
    torch.testing.assert_close(encoded[:4], learned.table.weight)
    torch.testing.assert_close(encoded[4:], learned.table.weight[3].expand(5, 6))
    torch.testing.assert_close(learned(torch.zeros(1, 2, 6), 2)[0], encoded[2:4])


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
