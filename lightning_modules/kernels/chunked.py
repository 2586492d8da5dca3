"""Formulas computed in chunks: the same numbers without their largest tensor.

- ``additive_energies``, without the ``(batch, tgt, src, size)`` tensor of the formula; on a GPU by
  kernels of ``kernels.additive_rows``;
- ``output_loss``, without the logits of all positions at once. The forward pass also computes the
  gradients, while the logits of a chunk are still in the cache and become their own gradient in
  place; on a GPU by one kernel (``kernels.row_kernels``), in the dtype of the product.
  (``torch.nn.functional.linear_cross_entropy`` has no label smoothing.)

A chunk fits the cache of a CPU, or takes a share of the free memory of a GPU.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.additive_rows import additive_by_rows
from lightning_modules.kernels.choice import computes_by_rows
from lightning_modules.kernels.device import chunk_size
from lightning_modules.kernels.precision import product_type
from lightning_modules.kernels.products import multiply, multiply_transposed

HIDDEN_NUMBERS = 1 << 18
"""Numbers of the hidden layer in memory at a time on a CPU: as many as fit the cache of one core. A
GPU has room for more."""


def additive_energies(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    """Return ``v · tanh(q_t + k_s)``, ``(…, tgt, src)``, of queries ``(…, tgt, size)`` and keys.

    The backward pass computes a large hidden layer again. ``energy`` is v, ``(size,)``.
    """
    if torch.compiler.is_compiling():  # the compiler fuses the formula
        return ((query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh() * energy).sum(-1)
    if computes_by_rows(query):
        return additive_by_rows(query, keys, energy)
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
        if hidden.shape[:3] == energies.shape and hidden.numel() <= HIDDEN_NUMBERS:
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
    numbers = chunk_size(query.device, query.element_size(), HIDDEN_NUMBERS)
    columns = max(1, min(tgt, numbers // max(1, keys.shape[1] * size)))
    rows = max(1, numbers // max(1, columns * keys.shape[1] * size))
    for first in range(0, batch, rows):
        for column in range(0, tgt, columns):
            yield slice(first, first + rows), slice(column, column + columns)


LOSS_ROWS = 512
"""Number of positions whose logits are in memory at a time on a CPU; a GPU has room for more."""


def output_loss(
    features: Tensor,
    weight: Tensor,
    bias: Tensor,
    targets: Tensor,
    label_smoothing: float,
    count: Tensor | None = None,
) -> Tensor:
    """Return ``cross_entropy(linear(features, weight, bias), targets, label_smoothing=…)``.

    Features are ``(positions, features)``, targets ``(positions,)``. With a ``count`` ``()`` of
    real positions, the other positions have the target -1, no loss and no gradient. The backward
    pass may run only once. Under autocast, products have the dtype of autocast.
    """
    inputs = (features, weight, bias)
    needs_gradients = torch.is_grad_enabled() and any(t.requires_grad for t in inputs)
    return _OutputLoss.apply(*inputs, targets, label_smoothing, needs_gradients, count)


class _OutputLoss(torch.autograd.Function):
    """Loss and gradients, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        needs_gradients: bool,
        count: Tensor | None,
    ) -> Tensor:
        ctx.dtypes = features.dtype, weight.dtype, weight.dtype
        ctx.gradients = None
        dtype = product_type(features)
        with torch.autocast(features.device.type, enabled=False):
            features, weight, bias = (tensor.to(dtype) for tensor in (features, weight, bias))
            sums = _GradientSums(bias) if needs_gradients else None
            grad_features = torch.empty_like(features) if needs_gradients else None
            total = features.new_zeros((), dtype=torch.promote_types(dtype, torch.float32))
            chunk = chunk_size(total.device, total.itemsize * len(weight), LOSS_ROWS)
            for start in range(0, len(features), chunk):
                rows = slice(start, start + chunk)
                logits = multiply(features[rows], weight.T, bias, aligned=True)
                if computes_by_rows(logits):
                    from lightning_modules.kernels.row_kernels import loss_rows

                    total += loss_rows(logits, targets[rows], smoothing).sum()
                else:
                    logits = logits.to(total.dtype)
                    total += _loss_and_gradient(
                        logits, targets[rows, None], smoothing, count is not None
                    )
                if sums is not None and grad_features is not None:
                    grad_logits = logits.to(dtype)
                    grad_features[rows] = multiply(grad_logits, weight)
                    sums.add(grad_logits, features[rows])
        if sums is not None:
            ctx.gradients = grad_features, sums.weight, sums.bias
        ctx.positions = len(features) if count is None else count
        return total / ctx.positions

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("the gradients of this loss have been used; compute it again")
        gradients = [
            None if grad is None else grad.to(dtype).mul_(grad_output / ctx.positions)
            for grad, dtype in zip(ctx.gradients, ctx.dtypes, strict=True)
        ]
        ctx.gradients = None
        return *gradients, None, None, None, None


class _GradientSums:
    """Gradients of weight and bias, summed over chunks in float32 or better."""

    def __init__(self, bias: Tensor) -> None:
        self.weight: Tensor | None = None
        self.bias = torch.zeros_like(bias, dtype=torch.promote_types(bias.dtype, torch.float32))

    def add(self, grad_logits: Tensor, features: Tensor) -> None:
        """Add the gradients of one chunk."""
        dtype = self.bias.dtype
        if grad_logits.dtype == dtype:
            self.weight = multiply_transposed(grad_logits, features, self.weight)
        else:
            if grad_logits.is_cuda:
                product = torch.mm(grad_logits.T, features, out_dtype=dtype)
            else:  # torch has no such product there
                product = (grad_logits.T @ features).to(dtype)
            self.weight = product if self.weight is None else self.weight.add_(product)
        self.bias += grad_logits.sum(0, dtype=dtype)


def _loss_and_gradient(logits: Tensor, targets: Tensor, smoothing: float, padded: bool) -> Tensor:
    """Return the loss, summed over positions, and turn ``logits`` into its gradient.

    All in place and with one exponential: passes over the logits dominate the cost of a loss.
    ``padded`` positions, with the target -1, have neither loss nor gradient.
    """
    padding = targets < 0 if padded else None
    if padding is not None:
        targets = targets.clamp(min=0)
    target_logits = logits.gather(1, targets).squeeze(1) * (1 - smoothing)
    if smoothing:
        target_logits += logits.mean(1) * smoothing
    largest = logits.amax(1, keepdim=True)
    total = logits.sub_(largest).exp_().sum(1, keepdim=True)
    logits.div_(total)
    if smoothing:
        logits.sub_(smoothing / logits.shape[1])
    logits.scatter_add_(1, targets, logits.new_full(targets.shape, smoothing - 1))
    log_total = total.log_() + largest
    if padding is None:
        return log_total.sum() - target_logits.sum()
    logits.masked_fill_(padding, 0)
    return (log_total - target_logits.unsqueeze(1)).masked_fill_(padding, 0).sum()
