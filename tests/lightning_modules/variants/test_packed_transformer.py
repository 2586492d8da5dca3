"""A Transformer on packed sentences against the same on padded sentences."""

from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from datamodules.batching import PackedBatch
from lightning_modules.kernels.choice import PLAIN, Kernels, use_kernels
from lightning_modules.kernels.replay import Recorded
from lightning_modules.training.module import TranslationModule
from lightning_modules.variants import Transformer
from lightning_modules.variants.transformer.packed import PARTS
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.streams import packed_batch
from tests.helpers.variants import small_model, transformer
from tests.lightning_modules.training.test_training import module

SRC, TGT = [7, 3, 5, 6], [8, 2, 5, 7]
OTHER_SRC, OTHER_TGT = [4, 12, 2, 9, 1, 1, 3], [3, 9, 6, 11, 2, 1, 4]
ROOM = 48
KINDS = {
    "pre-norm": ("transformer", []),
    "post-norm, tied": ("transformer_base", ["model.dropout=0"]),
    "learned": ("transformer_learned", []),
    "rotary": ("transformer_rotary", []),
    "shifted by 0": ("transformer", ["model.positions=shifted", "model.max_shift=0"]),
    "apart": ("transformer_positions_apart", []),
    "no positions": ("transformer", ["model.positions=none"]),
    "few parts": ("transformer_few_parts", []),
    "key and value size": ("transformer", ["model.key_size=6", "model.value_size=10"]),
}


def training(kind: str) -> TranslationModule:
    """Return the module of a small Transformer in float64, without dropout."""
    name, overrides = KINDS[kind]
    trained = module("transformer")
    trained.model = small_model(name, *overrides).double().train()
    return trained


def loss_and_gradients(trained, batch):
    parameters = dict(trained.model.named_parameters())
    loss = trained.loss(batch, 0.1)
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return {"loss": loss} | dict(zip(parameters, gradients, strict=True))


def alike(actual, expected):
    for name, value in expected.items():
        if value is None:  # a table of positions beyond all lengths, for example
            assert actual[name] is None
            continue
        scale = max(1.0, float(value.detach().abs().max()))
        torch.testing.assert_close(
            actual[name] / scale, value / scale, rtol=0, atol=1e-12, msg=name
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("src", "tgt"), [(SRC, TGT), (OTHER_SRC, OTHER_TGT), ([1], [1])])
def test_packed_sentences_have_the_loss_and_the_gradients_of_padded_sentences(kind, src, tgt):
    trained, batch = training(kind), packed_batch(src, tgt, ROOM)
    alike(
        loss_and_gradients(trained, batch), loss_and_gradients(trained, batch._replace(packed=None))
    )


@pytest.mark.parametrize("kind", ["pre-norm", "post-norm, tied", "rotary"])
def test_one_recording_serves_batches_of_any_lengths(kind):
    """As a CUDA graph: other numbers of sentences, other lengths, the same shapes."""
    trained, first = training(kind), packed_batch(SRC, TGT, ROOM)
    given: Any = first.packed

    def update(*parts):
        found = loss_and_gradients(trained, first._replace(packed=PackedBatch(*parts)))
        return {name: value for name, value in found.items() if value is not None}

    graphs = EmulatedGraphs()
    graphs.warm_up(lambda: update(*given))
    recorded = Recorded(graphs, update, given)
    for lengths in ((OTHER_SRC, OTHER_TGT), (SRC, TGT), ([40], [2]), ([1] * 20, [2] * 20)):
        batch: Any = packed_batch(*lengths, ROOM, seed=5)
        alike(recorded(*batch.packed), loss_and_gradients(trained, batch))


@pytest.fixture
def packing():
    use_kernels(Kernels(packed=True))
    torch.compiler.reset()
    yield
    use_kernels(PLAIN)


@pytest.mark.long
def test_all_layers_and_batches_are_one_graph_each(packing):
    """Without a graph break; both inputs, the encoder's layers and the decoder's have their own."""
    trained = training("post-norm, tied")
    counters.clear()
    trained.model.compile_blocks(backend="aot_eager")
    for lengths in ((SRC, TGT), (OTHER_SRC, OTHER_TGT), ([40], [2])):
        batch = packed_batch(*lengths, ROOM)
        alike(
            loss_and_gradients(trained, batch),
            loss_and_gradients(trained, batch._replace(packed=None)),
        )
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == len(PARTS)


def test_compilation_is_for_the_kernels_in_use(packing):
    model = transformer()
    model.compile_blocks(backend="eager")
    assert model.packed_parts is not PARTS
    assert {layer._compiled_call_impl for layer in model.layers()} == {None}
    use_kernels(PLAIN)
    model = transformer()
    model.compile_blocks(backend="eager")
    assert model.packed_parts is PARTS
    assert None not in {layer._compiled_call_impl for layer in model.layers()}


class Own(Transformer):
    """A variant of a user, whose pass may be another."""


def test_what_cannot_be_packed_says_why(monkeypatch):
    monkeypatch.setattr("lightning_modules.variants.transformer.model.has_triton", lambda: True)
    for kind in ("sinusoidal", "shifted", "learned", "rotary", "none"):
        assert transformer(positions=kind).cannot_pack() is None
    for kind in ("relative", "t5", "alibi"):
        expected = f"model.decoder_positions={kind} needs the weights of each pair of positions"
        assert transformer(decoder_positions=kind).cannot_pack() == expected
    for kind in ("gru", "lstm"):
        expected = f"model.positions={kind} reads the sentences of padded batches"
        assert transformer(positions=kind).cannot_pack() == expected
    assert "positions=relative" in str(transformer(positions="relative").cannot_pack())
    assert "placement" in str(transformer(placement={"encoder": "cpu"}).cannot_pack())
    for side in ("encoder", "decoder"):
        mixer: dict[str, Any] = {f"{side}_mixer": "gru"}
        assert "a recurrence" in str(transformer(**mixer).cannot_pack())
    monkeypatch.setattr("tests.helpers.variants.Transformer", Own)
    assert transformer().cannot_pack() == "Own reads padded batches"
    monkeypatch.undo()
    monkeypatch.setattr("lightning_modules.variants.transformer.model.has_triton", lambda: False)
    assert transformer().cannot_pack() == "Triton is not installed"
    assert small_model("bahdanau").cannot_pack() == "Recurrent reads padded batches"
