"""``compile=…``: the same training with kernels from ``torch.compile``."""

import shutil

import pytest
import torch
import torch._inductor.config

from datamodules.errors import UserError
from lightning_modules.training.factories import compile_blocks
from tests.helpers.variants import sentences, small_model, targets


def trained(model):
    """Return features and all gradients of one batch, in float64."""
    model.double()
    features = model.decode(model.encode(*sentences([5, 3, 7])), targets(3, 6)).features
    features.square().sum().backward()
    return [features, *(p.grad for p in model.parameters() if p.grad is not None)]


def alike(model, expected):
    for one, other in zip(trained(model), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        *("bahdanau", "transformer"),
        *(
            pytest.param(name, marks=pytest.mark.long)
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
def test_compiled_kernels_give_the_same_numbers():
    expected = trained(small_model("bahdanau"))
    model = small_model("bahdanau")
    compile_blocks(model, "default")
    alike(model, expected)


def test_without_a_compiler_one_line_says_so():
    torch._dynamo.reset()
    settings = {"cpp.cxx": (None, "/nowhere/g++"), "force_disable_caches": True}
    with torch._inductor.config.patch(settings), pytest.raises(UserError) as raised:
        compile_blocks(small_model("bahdanau"), "default")
    assert str(raised.value).startswith("compile=default: ")
    assert str(raised.value).endswith("set compile=null")
    assert "\n" not in str(raised.value)
