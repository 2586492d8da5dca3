"""``compile=…``: the same training with kernels from ``torch.compile``."""

import shutil

import pytest
import torch
import torch._dynamo.config
import torch._inductor.config
from torch._dynamo.utils import counters

from datamodules.errors import UserError
from lightning_modules.attention.scores import Dot
from lightning_modules.decoding import BeamSearch, GreedySearch
from lightning_modules.kernels import packed_weights
from lightning_modules.kernels import rnn as rnn_kernels
from lightning_modules.training.factories import MOST_KERNELS, compile_blocks
from lightning_modules.variants.recurrent.compiled_step import compile_step
from tests.helpers.variants import ALL, sentences, small_model, targets


def trained(model):
    """Return features and all gradients of one batch, in float64."""
    model.double()
    features, weights = model.decode(model.encode(*sentences([5, 3, 7])), targets(3, 6))
    features.square().sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [features, *gradients, *([] if weights is None else [weights])]


@pytest.fixture(autouse=True)
def forget_kernels():
    """Kernels of other tests count against the most kernels of one function."""
    torch.compiler.reset()


def alike(model, expected):
    for one, other in zip(trained(model), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        *("bahdanau", "transformer"),
        *(
            pytest.param(name, marks=pytest.mark.exhaustive)
            for name in ("luong_global", "luong_predictive")
        ),
    ],
)
def test_blocks_are_one_graph_each_and_give_the_same_numbers(name):
    layers = ["model.encoder_layers=1", "model.decoder_layers=1"] if name == "transformer" else []
    expected = trained(small_model(name, *layers))
    model = small_model(name, *layers)
    for block in model.blocks():
        block.compile(backend="aot_eager", fullgraph=True, dynamic=True)
    alike(model, expected)


@pytest.mark.long
def test_compiled_blocks_show_the_weights_of_their_heads():
    """Hooks work even if they are registered after compilation."""
    layers = ["model.encoder_layers=1", "model.decoder_layers=1"]
    plain, model = (small_model("transformer", *layers) for _ in range(2))
    for block in model.blocks():
        block.compile(backend="aot_eager", dynamic=True)
    with torch.no_grad():
        model.decode(model.encode(*sentences([5, 3, 7])), targets(3, 6))
        actual, expected = (
            each.head_weights(each.encode(*sentences([5, 3, 7])), targets(3, 6))
            for each in (model, plain)
        )
    torch.testing.assert_close(actual, expected)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize(
    "name",
    [
        "bahdanau",
        *(
            pytest.param(name, marks=pytest.mark.exhaustive)
            for name in ("luong_global", "rnnsearch", "transformer")
        ),
    ],
)
@pytest.mark.exhaustive
def test_compiled_kernels_give_the_same_numbers(name):
    expected = trained(small_model(name))
    model = small_model(name)
    compile_blocks(model, "default")
    alike(model, expected)


RECURRENT = [name for name in ALL if not name.startswith("transformer")]
LOOPS = ["bahdanau", "luong_global", "luong_intra", "rnnsearch"]
"""Attention before the step, input feeding, a past that grows, and a cell that torch lacks."""


@pytest.mark.long
@pytest.mark.parametrize("name", RECURRENT)
def test_compiled_steps_give_the_numbers_of_the_plain_loop(name):
    expected = trained(small_model(name))
    model = small_model(name)
    model.compile_blocks(backend="aot_eager")
    alike(model, expected)


@pytest.mark.long
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.exhaustive
def test_steps_compile_in_bfloat16_with_the_types_of_a_gpu(name, monkeypatch):
    """Kernels get explicit types there, and must ask for autocast inside the compiled step."""
    monkeypatch.setattr(rnn_kernels, "needs_types", lambda inputs: True)
    plain, model = small_model(name).eval(), small_model(name).eval()
    model.compile_blocks(backend="aot_eager")
    features = []
    for each in (plain, model):
        with torch.autocast("cpu", torch.bfloat16):
            memory = each.encode(*sentences([5, 3, 7]))
            features.append(each.decode(memory, targets(3, 6)).features)
    torch.testing.assert_close(*features, rtol=0.05, atol=0.05)


@pytest.mark.long
@pytest.mark.parametrize("name", LOOPS)
def test_compiled_steps_search_as_plain_steps_do(name):
    plain, model = small_model(name).eval(), small_model(name).eval()
    model.compile_blocks(backend="eager")
    source = sentences([5, 3, 19])
    for search in (GreedySearch(max_ratio=1, max_extra=1), BeamSearch(3, max_ratio=1, max_extra=1)):
        for ours, theirs in zip(search(model, *source), search(plain, *source), strict=True):
            assert [one.tokens for one in ours] == [one.tokens for one in theirs]
            for one, other in zip(ours, theirs, strict=True):
                torch.testing.assert_close(one.weights, other.weights)


@pytest.mark.long
@pytest.mark.parametrize("name", LOOPS)
@torch._dynamo.config.patch(recompile_limit=MOST_KERNELS)
def test_fifty_lengths_and_sizes_of_batches_need_few_kernels(name):
    """In training and in a search together; a batch of one sentence has kernels of its own.

    The past of an intra-attention begins with zero and one positions, which need more.
    """
    counters.clear()
    model = small_model(name)
    model.compile_blocks(backend="eager")
    for length in range(1, 51):
        src, tgt = sentences([length] * (1 + length % 7)), targets(1 + length % 7, 1 + length % 5)
        model.decode(model.encode(*src), tgt).features.sum().backward()
        with torch.inference_mode():
            memory = model.encode(*src)
            state = model.initial_state(memory)
            for tokens in tgt.unbind(1):
                state = model.step(memory, state, tokens).state
    assert counters["stats"]["unique_graphs"] <= (12 if "intra" in name else 8)
    assert not counters["graph_break"]


def test_results_of_a_search_are_not_written_over_by_the_next_step(monkeypatch):
    """A CUDA graph gives the results of all its runs the same memory."""
    memory = torch.zeros(2)
    monkeypatch.setattr(torch, "compile", lambda step, **_: lambda one: memory.fill_(float(one)))
    step = compile_step(torch.neg, mode="reduce-overhead")
    with torch.no_grad():
        first, second = step(torch.tensor(1.0)), step(torch.tensor(2.0))
    assert (first.tolist(), second.tolist()) == ([1, 1], [2, 2])


def test_a_search_with_packed_weights_leaves_out_the_compiled_step(monkeypatch):
    model = small_model("bahdanau").eval()
    model.compile_blocks(backend="eager")
    monkeypatch.setattr(model, "_compiled_step", pytest.fail)
    with torch.no_grad(), packed_weights(model, int8=True):
        memory = model.encode(*sentences([5, 3]))
        model.step(memory, model.initial_state(memory), torch.tensor([5, 6]))


class Deciding(Dot):
    """A score that decides by a number of a tensor, which no graph can."""

    def forward(self, query, keys):
        return super().forward(query, keys) * (2 if query.sum() > 0 else 1)


@pytest.mark.long
def test_a_score_that_is_no_graph_is_told_in_one_line():
    model = small_model("luong_global", f"model.attention.score={__name__}.Deciding")
    model.compile_blocks(backend="eager")
    with pytest.raises(UserError) as raised:
        trained(model)
    line = str(raised.value)
    assert line.startswith("compile=default: ")
    assert "test_compile.py, line" in line
    assert line.endswith("; set compile=null")
    assert "\n" not in line


@pytest.mark.long
def test_without_a_compiler_one_line_says_so():
    settings = {"cpp.cxx": (None, "/nowhere/g++"), "force_disable_caches": True}
    with torch._inductor.config.patch(settings), pytest.raises(UserError) as raised:
        compile_blocks(small_model("bahdanau"), "default")
    assert str(raised.value).startswith("compile=default: ")
    assert str(raised.value).endswith("set compile=null")
    assert "\n" not in str(raised.value)
