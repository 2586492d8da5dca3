"""Matrices that every step of a loop multiplies by, with one product for the whole gradient.

Autograd adds a gradient as large as the matrix at every step. For a matrix from
``accumulate_once``, the backward pass of each step only stores the two factors of its gradient.
One product of all factors follows after the last step. Any other matrix is multiplied as usual.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels import products
from lightning_modules.kernels.precision import product_type

Factors = list[tuple[Tensor, Tensor]]
"""The pair (L, R) of each step; the gradient of the matrix is the sum of ``Lᵀ R``."""


def accumulate_once(matrix: Tensor) -> Tensor:
    """Return ``matrix`` ``(…, rows, columns)`` for a loop, in the dtype of products."""
    matrix = matrix.to(product_type(matrix))
    if torch.compiler.is_compiling() or not (torch.is_grad_enabled() and matrix.requires_grad):
        return matrix
    return _Collect.apply(matrix, [])


def linear(inputs: Tensor, matrix: Tensor, onto: Tensor | None = None) -> Tensor:
    """Return ``onto + inputs @ matrixᵀ``, ``(…, tgt, rows)``.

    ``onto`` is ``(tgt, rows)`` or ``(rows,)``, for a matrix without batch; None for 0.
    """
    factors = _factors(matrix)
    if factors is not None:
        return _SharedLinear.apply(inputs.to(matrix.dtype), matrix, onto, factors)
    product = _product(inputs, matrix)
    return product if onto is None else onto + product


def weighted_sum(weights: Tensor, matrix: Tensor) -> Tensor:
    """Return ``weights @ matrix``: ``(…, tgt, rows), (…, rows, columns) -> (…, tgt, columns)``."""
    factors = _factors(matrix)
    if factors is not None:
        return _WeightedSum.apply(weights.to(matrix.dtype), matrix, factors)
    return weights @ matrix


def _product(inputs: Tensor, matrix: Tensor) -> Tensor:
    """Return ``inputs @ matrixᵀ``, for a matrix with or without batch."""
    if matrix.dim() == 2:
        return products.linear(inputs, matrix)
    return inputs @ matrix.transpose(-1, -2)


def _factors(matrix: Tensor) -> Factors | None:
    if torch.compiler.is_compiling():
        return None
    return getattr(matrix.grad_fn, "factors", None)


class _Collect(torch.autograd.Function):
    """Passes a matrix on; its backward pass runs after the backward passes of all steps."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, factors: Factors) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.factors = factors
        return matrix.view_as(matrix)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, None]:
        if not ctx.factors:
            return grad_output, None
        left, right = (torch.cat(tensors, -2) for tensors in zip(*ctx.factors, strict=True))
        ctx.factors.clear()
        if left.dim() == 2:
            collected = products.multiply_transposed(left, right)
        else:
            collected = left.transpose(-1, -2) @ right
        return collected if grad_output is None else grad_output + collected, None


class _SharedLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, matrix: Tensor, onto: Tensor | None, factors: Factors
    ) -> Tensor:
        ctx.save_for_backward(inputs, matrix)
        ctx.factors = factors
        if onto is None:
            return _product(inputs, matrix)
        return products.multiply(inputs, matrix.t(), onto.to(matrix.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        inputs, matrix = ctx.saved_tensors
        ctx.factors.append((grad_output, inputs))
        needs_inputs, _, needs_onto, _ = ctx.needs_input_grad
        grad_inputs = None
        if needs_inputs:
            batched = matrix.dim() > 2
            grad_inputs = (
                grad_output @ matrix if batched else products.multiply(grad_output, matrix)
            )
        return grad_inputs, None, grad_output if needs_onto else None, None


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, matrix: Tensor, factors: Factors) -> Tensor:
        ctx.save_for_backward(weights, matrix)
        ctx.factors = factors
        return weights @ matrix

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, None, None]:
        weights, matrix = ctx.saved_tensors
        ctx.factors.append((weights, grad_output))
        needs_weights, *_ = ctx.needs_input_grad
        grad_weights = grad_output @ matrix.transpose(-1, -2) if needs_weights else None
        return grad_weights, None, None
