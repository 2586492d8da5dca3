"""Additive energies by Triton's kernels, in a loop with one gradient of the keys for all steps.

The gradient of a key sums over all target positions. A step of a loop would add a tensor as large
as the keys to it; instead each step stores its queries and the gradient of its energies, and one
kernel reads them after the last step, as in ``kernels.shared``.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.choice import computes_by_rows
from lightning_modules.kernels.precision import product_type
from lightning_modules.kernels.shared import accumulate_once

Steps = list[tuple[Tensor, Tensor]]
"""Of each step, queries ``(batch, tgt, size)`` and gradient of energies ``(batch, tgt, src)``."""


def share_additive_keys(keys: Tensor, energy: Tensor) -> Tensor:
    """Return keys ``(…, src, size)`` for a loop of ``additive_energies`` with v, ``(size,)``."""
    typed = keys.to(product_type(keys))
    learns = torch.is_grad_enabled() and (keys.requires_grad or energy.requires_grad)
    if not (learns and computes_by_rows(typed)):
        return accumulate_once(keys)
    shared: Tensor = _Collect.apply(typed, energy, [])
    return shared


def additive_by_rows(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    """Return ``kernels.chunked.additive_energies``, in float32."""
    steps = getattr(keys.grad_fn, "additive_steps", None)
    energies = _Energies.apply(query.flatten(0, -3), keys.flatten(0, -3), energy, steps)
    return energies.unflatten(0, query.shape[:-2])


class _Collect(torch.autograd.Function):
    """Passes keys on; its backward pass runs after the backward passes of all steps."""

    @staticmethod
    def forward(ctx: Any, keys: Tensor, energy: Tensor, steps: Steps) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(keys, energy)
        ctx.additive_steps = steps
        return keys.view_as(keys)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, Tensor | None, None]:
        from lightning_modules.kernels.row_kernels import keys_gradient

        if not ctx.additive_steps:
            return grad_output, None, None
        keys, energy = ctx.saved_tensors
        query, grad_energies = (
            torch.cat(parts, 1) for parts in zip(*ctx.additive_steps, strict=True)
        )
        ctx.additive_steps.clear()
        grad_keys, grad_energy = keys_gradient(query, keys.flatten(0, -3), energy, grad_energies)
        grad_keys = grad_keys.view_as(keys)
        if grad_output is not None:
            grad_keys = grad_keys + grad_output
        return grad_keys, grad_energy, None


class _Energies(torch.autograd.Function):
    """Energies of queries ``(batch, tgt, size)`` and keys ``(batch, src, size)``.

    With ``steps``, those of the keys' ``_Collect``, gradients of keys and v are left to it.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, keys: Tensor, energy: Tensor, steps: Steps | None
    ) -> Tensor:
        from lightning_modules.kernels.row_kernels import energies_of_rows

        ctx.save_for_backward(query, keys, energy)
        ctx.steps = steps
        return energies_of_rows(query, keys, energy)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_energies: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor | None, None]:
        from lightning_modules.kernels.row_kernels import keys_gradient, query_gradient

        query, keys, energy = ctx.saved_tensors
        grad_query = query_gradient(query, keys, energy, grad_energies)
        if ctx.steps is None:
            return grad_query, *keys_gradient(query, keys, energy, grad_energies), None
        ctx.steps.append((query, grad_energies))
        return grad_query, None, None, None
