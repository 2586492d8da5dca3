"""The Transformer and its options; ``test_variants`` tests properties of every variant."""

from itertools import product
from typing import get_args

import pytest
import torch

from datamodules.tokenization import BOS, PAD
from lightning_modules.variants.base import Limit, Placement
from lightning_modules.variants.transformer.heads import MultiHeadAttention
from lightning_modules.variants.transformer.positions import (
    AttentionPositions,
    BucketBias,
    LinearBias,
    Positions,
    Relative,
    Rotary,
)
from tests.helpers.variants import sentences, targets, transformer

KINDS = list(get_args(Positions))
LENGTHS = [3, 9, 1, 14]


def small(**options):
    torch.manual_seed(0)
    model = transformer(**{"max_length": 8, "relative_distance": 4, **options}).eval()
    for parameter in model.parameters():  # larger weights make differences visible
        parameter.data.mul_(2)
    return model


def exactly(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_encoded_piece_by_piece_are_the_same(kind, monkeypatch):
    model = small(positions=kind).double()
    src, mask = sentences([3, 14, 1, 7, 7, 2], width=16)
    whole = model.encode(src, mask)
    monkeypatch.setattr("lightning_modules.variants.transformer.model.PIECE", 2)
    with torch.no_grad():
        pieces = model.encode(src, mask)
    assert torch.equal(pieces.mask, whole.mask)
    for ours, theirs in zip(pieces.layers, whole.layers, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            real = mask[:, None, :, None]
            exactly(one * real, other.detach() * real)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_step_leaves_the_state_before_it_as_it_was(kind):
    """A search may try several tokens from one state, in any order."""
    model = small(positions=kind).double()
    memory = model.encode(*sentences(LENGTHS))
    tgt = targets(len(LENGTHS), 6)
    state = model.step(memory, model.initial_state(memory), tgt[:, 0]).state
    first = model.step(memory, state, tgt[:, 1])
    other = model.step(memory, state, tgt[:, 2])
    after_first = model.step(memory, first.state, tgt[:, 3])
    exactly(model.step(memory, state, tgt[:, 1]).features, first.features)
    for second, step in ((tgt[:, 1], after_first), (tgt[:, 2], None)):
        given = torch.stack([tgt[:, 0], second, tgt[:, 3]], 1)
        features, _ = model.decode(memory, given)
        last = step or model.step(memory, other.state, tgt[:, 3])
        exactly(last.features, features[:, 2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@torch.no_grad()
def test_fused_attention_equals_the_formula(kind, causal, padded, dtype, within):
    torch.manual_seed(0)
    kinds = {
        "rotary": Rotary(),
        "relative": Relative(6, 3),
        "t5": BucketBias(2, 16, 8, 12, causal),
        "alibi": LinearBias(2),
    }
    positions = kinds.get(kind, AttentionPositions())
    attention = MultiHeadAttention(16, 2, 6, 10, positions).to(dtype)
    inputs = torch.randn(4, 14, 16, dtype=dtype)
    mask = sentences(LENGTHS)[1][:, None, None] if padded else None
    memory = attention.prepare(inputs)
    fused, nothing = attention(inputs, memory, mask, causal)
    plain, weights = attention(inputs, memory, mask, causal, need_weights=True)
    torch.testing.assert_close(fused, plain, rtol=0, atol=within)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 14, dtype=dtype))
    assert nothing is None


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_embeddings_enter_with_unit_size_and_padding_with_none(tied):
    """Section 3.4: embeddings start smaller by √d_model, the factor applied to them."""
    model = transformer(400, width=64, tied=tied)
    for table in (model.src_embedding, model.tgt_embedding):
        entering = table.weight[4:] * model.embedding_scale
        assert entering.std().item() == pytest.approx(1, abs=0.05)
        assert not table.weight[PAD].any()


def test_only_learned_positions_are_limited():
    assert small(positions="learned").limit() == Limit("model.max_length", 8, 8)
    assert {small(positions=kind).limit() for kind in KINDS if kind != "learned"} == {None}
    for sides, limits in ((("learned", "alibi"), (8, None)), (("gru", "learned"), (None, 8))):
        model = small(positions=sides[0], decoder_positions=sides[1])
        assert model.limit() == Limit("model.max_length", *limits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": 3}, "model.heads=3: must divide model.width=16"),
        ({"heads": 3, "key_size": 4}, "model.heads=3: must divide model.width=16"),
        ({"width": 15, "heads": 3}, "model.width=15: sinusoidal positions"),
        ({"key_size": 5, "positions": "rotary"}, "model.key_size=5: rotary positions"),
        ({"heads": 16, "positions": "rotary"}, "model.width / model.heads=1: rotary"),
        ({"key_size": 5, "decoder_positions": "rotary"}, "model.key_size=5: rotary positions"),
        (
            {"width": 15, "heads": 3, "positions": "none", "decoder_positions": "shifted"},
            "model.width=15: shifted positions",
        ),
        ({"width": 15, "heads": 3, "positions": "gru"}, "model.width=15: a recurrence in the enc"),
        (
            {"positions": "t5", "bias_buckets": 7},
            "model.bias_buckets=7: must be even and at least 4",
        ),
        (
            {"positions": "t5", "bias_buckets": 2},
            "model.bias_buckets=2: must be even and at least 4",
        ),
        (
            {"positions": "t5", "bias_buckets": 32, "bias_distance": 8},
            "model.bias_distance=8: must be larger than 8",
        ),
        (
            {"decoder_positions": "t5", "bias_buckets": 32, "bias_distance": 16},
            "model.bias_distance=16: must be larger than 16",
        ),
        (
            {"decoder_positions": "alibi", "decoder_mixer": "gru"},
            "model.decoder_positions=alibi: is a part of self-attention",
        ),
        (
            {"positions": "t5", "decoder_positions": "none", "encoder_mixer": "lstm"},
            "model.positions=t5: is a part of self-attention",
        ),
        (
            {"width": 15, "positions": "none", "heads": 3, "encoder_mixer": "gru"},
            "model.width=15: a recurrence in the encoder needs an even width",
        ),
        (
            {"positions": "rotary", "encoder_mixer": "gru", "decoder_mixer": "gru"},
            "model.positions=rotary: is a part of self-attention",
        ),
        ({"tgt_vocabulary": 24, "tied": "all"}, "model.tied=all: .*tokenizer.shared=true"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        transformer(23, **options)


def test_heads_need_not_divide_the_width_if_their_sizes_are_given():
    model = small(heads=3, key_size=4, value_size=5)
    assert model.decode(model.encode(*sentences([4])), targets(1, 3)).features.shape == (1, 3, 16)


@pytest.fixture
def meta_comes_back(monkeypatch):
    """Let ``.to("cpu")`` return zeros for a meta tensor, which has no data."""
    move = torch.Tensor.to

    def to(tensor, *args, **kwargs):
        try:
            return move(tensor, *args, **kwargs)
        except NotImplementedError:
            return move(torch.zeros_like(tensor, device="cpu"), *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "to", to)


def alike(table, inputs):
    assert inputs[0].device == table.weight.device


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("devices", list(product([None, "meta"], repeat=3)), ids=str)
@pytest.mark.parametrize("data", ["cpu", "meta"])
@torch.no_grad()
def test_every_transfer_to_another_device_is_made(kind, devices, data, meta_comes_back):
    """An operation on meta and real tensors fails, and so does a forgotten transfer."""
    encoder, attention, decoder = devices
    apart = Placement(encoder=encoder, attention=attention, decoder=decoder)
    model = small(positions=kind, placement=apart).to("cpu", torch.float64)
    for table in (
        model.src_embedding,
        model.tgt_embedding,
    ):  # embeddings do not fail with meta tensors
        table.register_forward_pre_hook(alike)
    memory = model.encode(*(tensor.to(data) for tensor in sentences(LENGTHS)))
    assert {tensor.device.type for tensor in (memory.mask, *memory.layers[0])} == {
        attention or "cpu"
    }
    features, weights = model.decode(memory, targets(4, 6).to(data))
    last_token = torch.full((4,), BOS, device=data)
    first = model.step(memory, model.initial_state(memory), last_token)
    step = model.step(memory, first.state, last_token)
    results = (features, weights, step.features, step.weights, step.state.layers[0].keys)
    shapes = ((4, 6, 16), (4, 6, 14), (4, 16), (4, 14), (4, 2, 2, 8))
    assert tuple(tuple(tensor.shape) for tensor in results) == shapes
    assert {tensor.device.type for tensor in results} == {decoder or "cpu"}


def test_parts_are_all_of_the_model_and_stay_where_they_are():
    model = small(positions="relative", placement=Placement(attention="meta"))
    model.to(torch.float64)
    parameters = {
        part: [parameter for module in modules for parameter in module.parameters()]
        for part, modules in model.parts().items()
    }
    named = [id(parameter) for part in parameters.values() for parameter in part]
    assert sorted(named) == sorted(map(id, model.parameters()))
    for part, device in {"encoder": "cpu", "attention": "meta", "decoder": "cpu"}.items():
        assert {parameter.device.type for parameter in parameters[part]} == {device}
