"""Matrices that every step of a loop multiplies by, with one product for their whole gradient.

Autograd adds a gradient as large as the matrix at every step. With a matrix from ``share`` each
step's backward pass keeps the two factors of its part instead, and their product is made once, when
the last of the steps is through. Any other matrix is multiplied as usual.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.precision import product_type

Parts = list[tuple[Tensor, Tensor]]
"""For each step L and R, of which the gradient is the sum of ``Lᵀ R``."""


def share(matrix: Tensor) -> Tensor:
    """Return the same ``(…, rows, columns)`` for a loop; under autocast in its type."""
    matrix = matrix.to(product_type(matrix))
    if not (torch.is_grad_enabled() and matrix.requires_grad):
        return matrix
    return _Collect.apply(matrix, [])


def linear(inputs: Tensor, matrix: Tensor, onto: Tensor | None = None) -> Tensor:
    """``onto + inputs @ matrixᵀ``: ``(…, tgt, columns), (…, rows, columns) -> (…, tgt, rows)``.

    ``onto`` is for matrices without a batch: ``(tgt, rows)``.
    """
    parts = _parts(matrix)
    if parts is not None:
        return _Linear.apply(inputs.to(matrix.dtype), matrix, onto, parts)
    product = inputs @ matrix.transpose(-1, -2)
    return product if onto is None else onto + product


def mix(weights: Tensor, matrix: Tensor) -> Tensor:
    """``weights @ matrix``: ``(…, tgt, rows), (…, rows, columns) -> (…, tgt, columns)``."""
    parts = _parts(matrix)
    if parts is not None:
        return _Mix.apply(weights.to(matrix.dtype), matrix, parts)
    return weights @ matrix


def _parts(matrix: Tensor) -> Parts | None:
    if torch.compiler.is_compiling():
        return None
    return getattr(matrix.grad_fn, "parts", None)


class _Collect(torch.autograd.Function):
    """Passes a matrix on; autograd comes back here after the last of the steps."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, parts: Parts) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.parts = parts
        return matrix.view_as(matrix)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor | None) -> tuple[Tensor | None, None]:
        if not ctx.parts:
            return outer, None
        left, right = (torch.cat(factors, -2) for factors in zip(*ctx.parts, strict=True))
        ctx.parts.clear()
        collected = left.transpose(-1, -2) @ right
        return collected if outer is None else outer + collected, None


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, matrix: Tensor, onto: Tensor | None, parts: Parts
    ) -> Tensor:
        ctx.save_for_backward(inputs, matrix)
        ctx.parts = parts
        transposed = matrix.transpose(-1, -2)
        if onto is None:
            return inputs @ transposed
        return torch.addmm(onto.to(matrix.dtype), inputs, transposed)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        inputs, matrix = ctx.saved_tensors
        ctx.parts.append((outer, inputs))
        of_inputs, _, of_onto, _ = ctx.needs_input_grad
        return outer @ matrix if of_inputs else None, None, outer if of_onto else None, None


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, matrix: Tensor, parts: Parts) -> Tensor:
        ctx.save_for_backward(weights, matrix)
        ctx.parts = parts
        return weights @ matrix

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, None, None]:
        weights, matrix = ctx.saved_tensors
        ctx.parts.append((weights, outer))
        of_weights = outer @ matrix.transpose(-1, -2) if ctx.needs_input_grad[0] else None
        return of_weights, None, None
