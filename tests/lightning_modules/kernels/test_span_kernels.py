"""Triton's kernels of packed attention against the formula in float64.

Without a GPU, Triton's interpreter runs them.
"""

import pytest
import torch

from lightning_modules.kernels import choice
from lightning_modules.kernels.packed_attention import Spans, packed_attention
from tests.helpers.gradients import random
from tests.helpers.streams import spans

SOURCE, TARGET = [5, 9, 3, 12, 7, 30, 1], [6, 8, 4, 10, 9, 27, 2]
CASES = {"encoder": (80, 80, 16, 16), "decoder": (75, 75, 6, 20), "across": (72, 67, 32, 16)}
"""Queries, keys, and the numbers of a key and of a value; tiles end within sentences and heads."""
ERRORS = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
"""Largest error, as a share of the norm, by the type of the numbers."""


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    triton = pytest.importorskip("triton", reason="Triton is missing; install the extra gpu")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    if request.param == "cpu" and not triton.knobs.runtime.interpret:
        pytest.skip("kernels are compiled for the GPU of this machine")
    return request.param


def error(ours, theirs) -> float:
    """Return the share of the difference in the norm of ``theirs``."""
    return float((ours.cpu().double() - theirs).norm() / theirs.norm())


@pytest.mark.long
@pytest.mark.parametrize("dtype", ERRORS)
@pytest.mark.parametrize("kind", CASES)
def test_results_and_gradients_equal_the_formula(device, kind, dtype, monkeypatch):
    from lightning_modules.kernels import span_kernels

    if (device, dtype) == ("cpu", torch.bfloat16):
        pytest.skip("Triton's interpreter multiplies the bits of bfloat16 as integers")
    for name in ("TILE", "SMALL"):
        monkeypatch.setattr(span_kernels, name, span_kernels.Tile(queries=32, keys=16))
    asking, asked, size, value = CASES[kind]
    seen = spans(kind, SOURCE, TARGET, asking, asked)
    rounded = [
        random(rows, 2, numbers).detach().to(dtype)
        for rows, numbers in ((asking, size), (asked, size), (asked, value), (asking, value))
    ]
    *inputs, direction = (each.double() for each in rounded)
    query, keys, values = (each.requires_grad_() for each in inputs)
    exact = packed_attention(query, keys, values, seen)
    expected = torch.autograd.grad(exact, inputs, direction)
    *parts, grad = (each.to(device) for each in rounded)
    query, keys, values = (part.requires_grad_() for part in parts)
    monkeypatch.setattr(choice, "DEVICE_OF_TRITON", device)
    result = packed_attention(query, keys, values, Spans(*(part.to(device) for part in seen)))
    found = torch.autograd.grad(result, parts, grad)
    for one, other in zip((result.detach(), *found), (exact.detach(), *expected), strict=True):
        assert one.dtype == dtype
        assert error(one, other) < ERRORS[dtype]


def test_tiles_fit_the_sizes_of_heads(device):
    from lightning_modules.kernels import span_kernels

    half, large, small = torch.bfloat16, span_kernels.TILE, span_kernels.SMALL
    cases = [(6, 64, half, large), (64, 64, torch.float32, small), (64, 65, half, small)]
    for size, value, dtype, tile in cases:
        query, values = (torch.zeros(3, 2, numbers, dtype=dtype) for numbers in (size, value))
        settings = span_kernels._settings(query, values)
        assert (settings["tile_queries"], settings["tile_keys"]) == (tile.queries, tile.keys)
        assert settings["size_block"] >= max(16, size)
        assert settings["value_block"] >= value
