"""The output layer and its cross-entropy, without the logits of all positions at once.

Gradients are computed in the forward pass, chunk by chunk, while the logits of a chunk are still
in the cache and become their own gradient in place. ``torch.nn.functional.linear_cross_entropy``
does the same, without label smoothing.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.chunks import chunk_size
from lightning_modules.kernels.precision import product_type
from lightning_modules.kernels.products import multiply, multiply_transposed

CHUNK = 512
"""Number of positions whose logits are in memory at a time on a CPU; a GPU has room for more."""


def output_loss(
    features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, label_smoothing: float
) -> Tensor:
    """Return ``cross_entropy(linear(features, weight, bias), targets, label_smoothing=…)``.

    The backward pass may run only once. Under autocast, products have the dtype of autocast.

    Args:
        features: ``(positions, features)``.
        weight: ``(vocabulary, features)``.
        bias: ``(vocabulary,)``.
        targets: ``(positions,)`` token ids.
        label_smoothing: probability spread evenly over the vocabulary.
    """
    inputs = (features, weight, bias)
    needs_gradients = torch.is_grad_enabled() and any(t.requires_grad for t in inputs)
    return _OutputLoss.apply(*inputs, targets, label_smoothing, needs_gradients)


class _OutputLoss(torch.autograd.Function):
    """Loss and gradients chunk by chunk; see the module."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        needs_gradients: bool,
    ) -> Tensor:
        ctx.dtypes = features.dtype, weight.dtype, weight.dtype
        ctx.gradients = None
        dtype = product_type(features)
        with torch.autocast(features.device.type, enabled=False):
            features, weight, bias = (tensor.to(dtype) for tensor in (features, weight, bias))
            sums = _GradientSums(bias) if needs_gradients else None
            grad_features = torch.empty_like(features) if needs_gradients else None
            total = features.new_zeros((), dtype=torch.promote_types(dtype, torch.float32))
            chunk = chunk_size(total.device, total.itemsize * len(weight), CHUNK)
            for start in range(0, len(features), chunk):
                rows = slice(start, start + chunk)
                logits = multiply(features[rows], weight.T, bias).to(total.dtype)
                total += _loss_and_gradient(logits, targets[rows, None], smoothing)
                if sums is not None and grad_features is not None:
                    grad_logits = logits.to(dtype)
                    grad_features[rows] = multiply(grad_logits, weight)
                    sums.add(grad_logits, features[rows])
        if sums is not None:
            ctx.gradients = grad_features, sums.weight, sums.bias
        ctx.positions = len(features)
        return total / len(features)

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
        return *gradients, None, None, None


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
            product = (grad_logits.T @ features).to(dtype)
            self.weight = product if self.weight is None else self.weight.add_(product)
        self.bias += grad_logits.sum(0, dtype=dtype)


def _loss_and_gradient(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Return the loss, summed over positions, and turn ``logits`` into its gradient.

    All in place and with one exponential: passes over the logits dominate the cost of a loss.
    """
    target_logits = logits.gather(1, targets).squeeze(1) * (1 - smoothing)
    if smoothing:
        target_logits += logits.mean(1) * smoothing
    largest = logits.amax(1, keepdim=True)
    total = logits.sub_(largest).exp_().sum(1, keepdim=True)
    logits.div_(total)
    if smoothing:
        logits.sub_(smoothing / logits.shape[1])
    logits.scatter_add_(1, targets, logits.new_full(targets.shape, smoothing - 1))
    return (total.log_() + largest).sum() - target_logits.sum()
