"""Output layer and additive energies in chunks against their formulas, and sizes of chunks."""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.nn.functional import linear as plain_linear

from lightning_modules.kernels import chunked
from lightning_modules.kernels.chunked import additive_energies, output_loss
from lightning_modules.kernels.device import SHARE, chunk_size, room_on
from tests.helpers.gradients import TYPES, Largest, both, random

GPU = torch.device("cuda:0")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("positions", [1, 7, 20])
def test_output_loss_equals_cross_entropy(positions, smoothing, dtype, monkeypatch):
    monkeypatch.setattr(chunked, "LOSS_ROWS", 7)
    goal = torch.randint(0, 11, (positions,), generator=torch.Generator().manual_seed(1))
    inputs = [
        random(positions, 5, dtype=dtype),
        random(11, 5, dtype=dtype),
        random(11, dtype=dtype),
    ]
    both(
        lambda x, w, b: output_loss(x, w, b, goal, smoothing),
        lambda x, w, b: cross_entropy(plain_linear(x, w, b), goal, label_smoothing=smoothing),
        inputs,
        TYPES[dtype],
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_has_neither_loss_nor_gradient(smoothing, monkeypatch):
    monkeypatch.setattr(chunked, "LOSS_ROWS", 7)
    goal = torch.randint(0, 11, (20,), generator=torch.Generator().manual_seed(1))
    goal[[0, 6, 7, 19]] = -1
    real = goal >= 0
    both(
        lambda x, w, b: output_loss(x, w, b, goal, smoothing, real.sum()),
        lambda x, w, b: cross_entropy(
            plain_linear(x[real], w, b), goal[real], label_smoothing=smoothing
        ),
        [random(20, 5), random(11, 5), random(11)],
        1e-12,
    )


def test_output_loss_of_a_tied_table_adds_to_the_gradient_of_the_embedding():
    table, bias, goal = random(11, 5), random(11), torch.tensor([3, 4, 3])
    both(
        lambda w, b: output_loss(w[[1, 2, 3]], w, b, goal, 0.1),
        lambda w, b: cross_entropy(plain_linear(w[[1, 2, 3]], w, b), goal, label_smoothing=0.1),
        [table, bias],
        1e-12,
    )


def test_output_loss_under_autocast_and_without_gradients():
    given = [random(*shape, dtype=torch.float32) for shape in ((40, 16), (50, 16), (50,))]
    features, weight, bias = given
    goal = torch.arange(40)
    expected = cross_entropy(plain_linear(features, weight, bias), goal)
    with torch.no_grad():
        torch.testing.assert_close(output_loss(features, weight, bias, goal, 0.0), expected)
    with torch.autocast("cpu", torch.bfloat16):
        loss = output_loss(features, weight, bias, goal, 0.0)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=0.02, atol=0)
    loss.backward()
    for tensor in given:
        assert tensor.grad.dtype == torch.float32
        (true,) = torch.autograd.grad(expected, tensor, retain_graph=True)
        assert (
            torch.nn.functional.cosine_similarity(tensor.grad.flatten(), true.flatten(), 0) > 0.99
        )


def test_output_loss_says_so_when_asked_for_its_gradient_twice():
    loss = output_loss(random(3, 4), random(5, 4), random(5), torch.tensor([0, 1, 2]), 0.0)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="have been used"):
        loss.backward()


def test_output_loss_never_holds_all_logits():
    features, weight, bias = random(4096, 8), random(3000, 8), random(3000)
    with Largest() as largest:
        output_loss(features, weight, bias, torch.arange(4096) % 3000, 0.1).backward()
    assert largest.numbers == chunked.LOSS_ROWS * 3000


def plain_additive(query, keys, energy):
    return (query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh() @ energy


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("chunk", [1, 70, 1 << 18])
@pytest.mark.parametrize("leading", [(3,), (2, 3)])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 6), (5, 4)])
def test_additive_equals_the_formula(lengths, leading, chunk, dtype, monkeypatch):
    monkeypatch.setattr(chunked, "HIDDEN_NUMBERS", chunk)
    tgt, src = lengths
    inputs = [random(*leading, tgt, 8), random(*leading, src, 8), random(8)]
    inputs = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    both(additive_energies, plain_additive, inputs, TYPES[dtype])


def test_additive_passes_gradcheck():
    torch.autograd.gradcheck(additive_energies, [random(2, 3, 4), random(2, 5, 4), random(4)])


def test_additive_never_holds_the_hidden_layer():
    query, keys, energy = (
        random(*s, dtype=torch.float32) for s in ((8, 60, 64), (8, 50, 64), (64,))
    )
    with Largest() as largest:
        additive_energies(query, keys, energy).sum().backward()
    whole = 8 * 60 * 50 * 64
    assert largest.numbers <= chunked.HIDDEN_NUMBERS < whole / 5


@pytest.fixture
def free(monkeypatch):
    """Let every device tell how much memory is free; return how often a device was asked."""
    asked = []

    def tell(memory):
        room_on.cache_clear()

        def get_memory_info(device):
            asked.append(device)
            return memory, 2 * memory

        monkeypatch.setattr(torch.accelerator, "get_memory_info", get_memory_info)
        return asked

    yield tell
    room_on.cache_clear()


@pytest.mark.parametrize(
    ("memory", "size"), [(80 << 30, 4 << 20), (40 << 30, 2 << 20), (4096, 512)]
)
def test_a_chunk_takes_a_share_of_the_free_memory_and_asks_once(free, memory, size):
    asked = free(memory)
    assert {chunk_size(GPU, 1024, 512) for _ in range(3)} == {size}
    assert asked == [GPU]
    assert size == 512 or 1024 * size <= memory / SHARE


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_cpu_is_never_asked(free, device):
    asked = free(80 << 30)
    assert chunk_size(torch.device(device), 1, 512) == 512
    assert not asked


def test_a_device_that_does_not_tell_gets_the_sizes_of_a_cpu():
    assert chunk_size(torch.device("mps"), 1, 512) == 512


def test_the_loss_of_a_roomy_device_is_one_chunk(monkeypatch):
    monkeypatch.setattr(chunked, "chunk_size", lambda *_: 1 << 20)
    rows = []
    multiply = chunked.multiply

    def noted(features, *others, **options):
        rows.append(len(features))
        return multiply(features, *others, **options)

    monkeypatch.setattr(chunked, "multiply", noted)
    output_loss(torch.zeros(1300, 4), torch.zeros(9, 4), torch.zeros(9), torch.arange(1300) % 9, 0)
    assert rows == [1300]


@pytest.mark.parametrize(("src", "kept"), [(4, True), (5000, False)])
def test_a_large_hidden_layer_of_one_chunk_is_computed_again(monkeypatch, src, kept):
    monkeypatch.setattr(chunked, "chunk_size", lambda *_: 1 << 30)
    query, keys = torch.zeros(2, 1, 64, requires_grad=True), torch.zeros(2, src, 64)
    energies = additive_energies(query, keys, torch.ones(64))
    node: Any = energies.grad_fn
    while not hasattr(node, "hidden"):
        node = node.next_functions[0][0]
    assert (node.hidden is not None) == kept
    (gradient,) = torch.autograd.grad(energies.sum(), query)
    assert gradient.equal(torch.full_like(query, src))
