"""Additive energies without the ``(batch, tgt, src, size)`` tensor of the formula."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.chunks import chunk_size

CHUNK = 1 << 18
"""Numbers of the hidden layer in memory at a time on a CPU: as many as fit the cache of one core. A
GPU has room for more."""


def additive_energies(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    """Return ``v · tanh(q_t + k_s)``; the backward pass computes a large hidden layer again.

    Args:
        query: ``(…, tgt, size)``.
        keys: ``(…, src, size)``.
        energy: v, ``(size,)``.

    Returns:
        Energies, ``(…, tgt, src)``.
    """
    if torch.compiler.is_compiling():  # the compiler fuses the formula
        return ((query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh() * energy).sum(-1)
    energies = _Additive.apply(
        query.flatten(0, -3), keys.flatten(0, -3).to(query.dtype), energy.to(query.dtype)
    )
    return energies.unflatten(0, query.shape[:-2])


class _Additive(torch.autograd.Function):
    """Energies of queries ``(batch, tgt, size)`` and keys ``(batch, src, size)``."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, energy)
        ctx.hidden = None
        energies = query.new_empty(*query.shape[:2], keys.shape[1])
        for batch, tgt in _chunks(query, keys):
            hidden = _hidden(query[batch, tgt], keys[batch])
            energies[batch, tgt] = hidden @ energy
        if hidden.shape[:3] == energies.shape and hidden.numel() <= CHUNK:
            ctx.hidden = hidden  # what fits the cache, as in one step of a small model, is kept
        return energies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, energy = ctx.saved_tensors
        grad_query, grad_keys = torch.empty_like(query), torch.zeros_like(keys)
        grad_energy = torch.zeros_like(energy)
        for batch, tgt in _chunks(query, keys):
            grad_energies = grad_outputs[batch, tgt]
            hidden = ctx.hidden
            if hidden is None:
                hidden = _hidden(query[batch, tgt], keys[batch])
            grad_energy += grad_energies.flatten() @ hidden.flatten(0, 2)
            slope = hidden.square().neg_().add_(1)  # of tanh
            grad_query[batch, tgt] = (grad_energies.unsqueeze(-2) @ slope).squeeze(-2)
            grad_keys[batch] += slope.mul_(grad_energies.unsqueeze(-1)).sum(1)
        return grad_query.mul_(energy), grad_keys.mul_(energy), grad_energy


def _hidden(query: Tensor, keys: Tensor) -> Tensor:
    """Return the hidden layer, ``(batch, tgt, src, size)``."""
    return (query.unsqueeze(2) + keys.unsqueeze(1)).tanh_()


def _chunks(query: Tensor, keys: Tensor) -> Iterator[tuple[slice, slice]]:
    """Split the batch, and also the targets where one sentence alone is too large."""
    batch, tgt, size = query.shape
    numbers = chunk_size(query.device, query.element_size(), CHUNK)
    columns = max(1, min(tgt, numbers // max(1, keys.shape[1] * size)))
    rows = max(1, numbers // max(1, columns * keys.shape[1] * size))
    for first in range(0, batch, rows):
        for column in range(0, tgt, columns):
            yield slice(first, first + rows), slice(column, column + columns)
