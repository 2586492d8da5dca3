"""Sizes of chunks by the free memory of a device."""

from typing import Any

import pytest
import torch

from lightning_modules.kernels import additive_energies, chunked, output_loss
from lightning_modules.kernels.chunked import chunk_size, room_on

GPU = torch.device("cuda:0")


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


@pytest.mark.parametrize(("gib", "size"), [(80, 4 << 20), (70, 4 << 20), (40, 2 << 20)])
def test_a_chunk_takes_a_share_of_the_free_memory(free, gib, size):
    free(gib << 30)
    assert chunk_size(GPU, 1024, 512) == size
    assert 1024 * size <= (gib << 30) / chunked.SHARE


def test_a_chunk_is_never_smaller_than_on_a_cpu(free):
    for memory in (0, 1, 4096):
        free(memory)
        assert chunk_size(GPU, 1024, 512) == 512


def test_a_device_is_asked_once(free):
    asked = free(80 << 30)
    sizes = {chunk_size(GPU, 1024, 512) for _ in range(3)}
    assert (len(sizes), asked) == (1, [GPU])


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_cpu_is_never_asked(free, device):
    asked = free(80 << 30)
    assert chunk_size(torch.device(device), 1, 512) == 512
    assert not asked


def test_a_device_that_does_not_tell_gets_the_sizes_of_a_cpu():
    """Without such a device, torch refuses the question too."""
    assert chunk_size(torch.device("mps"), 1, 512) == 512


def test_the_loss_of_a_roomy_device_is_one_chunk(monkeypatch):
    monkeypatch.setattr(chunked, "chunk_size", lambda *_: 1 << 20)
    rows = []
    multiply = chunked.multiply

    def noted(features, *others):
        rows.append(len(features))
        return multiply(features, *others)

    monkeypatch.setattr(chunked, "multiply", noted)
    output_loss(torch.zeros(1300, 4), torch.zeros(9, 4), torch.zeros(9), torch.arange(1300) % 9, 0)
    assert rows == [1300]


@pytest.mark.parametrize(("src", "kept"), [(4, True), (5000, False)])
def test_a_large_hidden_layer_of_one_chunk_is_computed_again(monkeypatch, src, kept):
    monkeypatch.setattr("lightning_modules.kernels.chunked.chunk_size", lambda *_: 1 << 30)
    query, keys = torch.zeros(2, 1, 64, requires_grad=True), torch.zeros(2, src, 64)
    energies = additive_energies(query, keys, torch.ones(64))
    node: Any = energies.grad_fn
    while not hasattr(node, "hidden"):
        node = node.next_functions[0][0]
    assert (node.hidden is not None) == kept
    (gradient,) = torch.autograd.grad(energies.sum(), query)
    assert gradient.equal(torch.full_like(query, src))
