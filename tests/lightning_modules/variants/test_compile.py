"""``compile=…``: the same training with kernels from ``torch.compile``."""

import shutil

import pytest
import torch
import torch._inductor.config

from datamodules.errors import UserError
from lightning_modules.kernels import precision
from lightning_modules.training.factories import compile_blocks
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import sentences, small_model, targets


def trained(model):
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


RECURRENT = ["bahdanau", "luong_global", "luong_predictive", "luong_intra"]
"""Attention before the step, input feeding, a window with a centre, and a past that grows."""


@pytest.mark.long
@pytest.mark.parametrize("name", [*RECURRENT, "transformer"])
def test_compiled_blocks_give_the_same_numbers(name):
    layers = ["model.encoder_layers=1", "model.decoder_layers=1"] if name == "transformer" else []
    expected = trained(small_model(name, *layers))
    model = small_model(name, *layers)
    model.compile_blocks(backend="aot_eager")
    alike(model, expected)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bahdanau", "luong_global", "transformer"])
def test_a_search_finds_the_same_with_compiled_blocks(name):
    plain, model = small_model(name).eval(), small_model(name).eval()
    model.compile_blocks(backend="eager")
    source = sentences([5, 3, 19])
    limits = {"max_ratio": 1, "max_extra": 1}
    for search in (greedy_search(**limits), beam_search(3, **limits)):
        for ours, theirs in zip(search(model, *source), search(plain, *source), strict=True):
            assert [one.tokens for one in ours] == [one.tokens for one in theirs]
            for one, other in zip(ours, theirs, strict=True):
                torch.testing.assert_close(one.weights, other.weights)


@pytest.mark.long
@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.exhaustive
def test_blocks_compile_in_bfloat16_with_the_types_of_a_gpu(name, monkeypatch):
    """Kernels get explicit types there, and must ask for autocast inside the compiled step."""
    monkeypatch.setattr(precision, "needs_types", lambda inputs: True)
    plain, model = small_model(name).eval(), small_model(name).eval()
    model.compile_blocks(backend="aot_eager")
    features = []
    for each in (plain, model):
        with torch.autocast("cpu", torch.bfloat16):
            memory = each.encode(*sentences([5, 3, 7]))
            features.append(each.decode(memory, targets(3, 6)).features)
    torch.testing.assert_close(*features, rtol=0.05, atol=0.05)


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


def test_loops_have_no_cuda_graphs(monkeypatch):
    """A CUDA graph gives the results of all its runs the same memory."""
    modes = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **given: modes.append(given))
    small_model("bahdanau").compile_blocks(mode="reduce-overhead")
    small_model("luong_global").compile_blocks(mode="max-autotune")
    assert {given["mode"] for given in modes} == {"default", "max-autotune-no-cudagraphs"}
    assert len(modes) == 6


@pytest.mark.long
def test_without_a_compiler_one_line_says_so():
    settings = {"cpp.cxx": (None, "/nowhere/g++"), "force_disable_caches": True}
    with torch._inductor.config.patch(settings), pytest.raises(UserError) as raised:
        compile_blocks(small_model("bahdanau"), "default")
    assert str(raised.value).startswith("compile=default: ")
    assert str(raised.value).endswith("set compile=null")
    assert "\n" not in str(raised.value)
