"""Triton's kernels at published sizes on a GPU, against float64; tiny ones are interpreted."""

from contextlib import contextmanager

import pytest
import torch
from torch.nn.functional import cross_entropy

from lightning_modules.kernels.additive_rows import share_additive_keys
from lightning_modules.kernels.chunked import additive_energies, output_loss
from tests.helpers.gradients import random

SIZES = {"cpu": (3, 70, 6), "cuda": (4000, 32_000, 1000)}
"""Rows, vocabulary and width."""
ERROR = 0.02  # largest share of the norm, in bfloat16


def learned(*shapes, device):
    """Numbers in bfloat16, so that their twins in float64 are the same."""
    tensors = [random(*shape).detach().bfloat16() for shape in shapes]
    exact = [tensor.to(device).double().requires_grad_() for tensor in tensors]
    return [tensor.to(device).float().requires_grad_() for tensor in tensors], exact


def compare(ours, exact):
    for mine, theirs in zip(ours, exact, strict=True):
        assert (mine.grad.double() - theirs.grad).norm() < ERROR * theirs.grad.norm()


@contextmanager
def without_waits(device):
    """Let everything that waits for a GPU raise."""
    if device == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")


def test_the_loss_of_a_published_vocabulary(rows):
    count, vocabulary, width = SIZES[rows]
    ours, exact = learned((count, width), (vocabulary, width), (vocabulary,), device=rows)
    for tensor in (*ours[1:], *exact[1:]):
        tensor.data.mul_(0.05)
    goal = torch.arange(count, device=rows) % vocabulary
    goal[:2] = -1
    real = torch.tensor(count - 2, device=rows)

    def loss() -> torch.Tensor:
        with torch.autocast(rows, torch.bfloat16):
            return output_loss(ours[0], ours[1], ours[2], goal, 0.1, real)

    loss()  # compiles the kernel
    with without_waits(rows):
        found = loss()
        found.backward()
    logits = exact[0] @ exact[1].T + exact[2]
    twin = cross_entropy(logits[2:], goal[2:], label_smoothing=0.1)
    twin.backward()
    assert found.item() == pytest.approx(twin.item(), rel=1e-3)
    compare(ours, exact)


@pytest.mark.parametrize("src", [5, 40])
def test_additive_attention_of_a_published_width(rows, src):
    count, _, width = SIZES[rows]
    batch = 2 if rows == "cpu" else count // 100
    src = min(src, 6) if rows == "cpu" else src
    ours, exact = learned((batch, 1, width), (batch, src, width), (width,), device=rows)

    def loop(query, keys, shared, energy):
        for _ in range(3):
            query = additive_energies(query, shared, energy).softmax(-1).to(keys.dtype) @ keys
        return query.square().sum()

    query, keys, energy = ours
    with torch.autocast(rows, torch.bfloat16):
        typed = keys.bfloat16()
        loop(query.bfloat16(), typed, share_additive_keys(typed, energy), energy).backward()
    loop(exact[0], exact[1], exact[1], exact[2]).backward()
    compare(ours, exact)
