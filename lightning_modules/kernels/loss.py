"""The output layer and its cross-entropy, without the logits of all positions at once.

The gradients are made in the forward pass, chunk by chunk, while the logits of a chunk are still
in the cache and turn into their own gradient in place. ``torch.nn.functional.linear_cross_entropy``
does the same, without label smoothing.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.precision import product_type

CHUNK = 512
"""Positions whose logits exist at the same time."""


def output_loss(
    features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, label_smoothing: float
) -> Tensor:
    """``cross_entropy(linear(features, weight, bias), targets, label_smoothing=…)``, the mean.

    Its backward pass may run once. Under autocast the products are made in its type.

    Args:
        features: ``(positions, features)``.
        weight: ``(vocabulary, features)``.
        bias: ``(vocabulary,)``.
        targets: ``(positions,)`` token ids.
        label_smoothing: probability spread evenly over the vocabulary.
    """
    wanted = torch.is_grad_enabled() and any(t.requires_grad for t in (features, weight, bias))
    return _OutputLoss.apply(features, weight, bias, targets, label_smoothing, wanted)


class _OutputLoss(torch.autograd.Function):
    """Chunks of positions through the output layer; see the module."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        wanted: bool,
    ) -> Tensor:
        ctx.kinds = features.dtype, weight.dtype
        ctx.gradients = None
        kind = product_type(features)
        with torch.autocast(features.device.type, enabled=False):
            features, weight, bias = (tensor.to(kind) for tensor in (features, weight, bias))
            sums = _Sums(weight, bias) if wanted else None
            of_features = torch.empty_like(features) if wanted else None
            total = features.new_zeros((), dtype=torch.promote_types(kind, torch.float32))
            for start in range(0, len(features), CHUNK):
                rows = slice(start, start + CHUNK)
                logits = torch.addmm(bias, features[rows], weight.T).to(total.dtype)
                total += _loss_and_gradient(logits, targets[rows, None], smoothing)
                if sums is not None and of_features is not None:
                    change = logits.to(kind)
                    torch.mm(change, weight, out=of_features[rows])
                    sums.add(change, features[rows])
        if sums is not None:
            ctx.gradients = of_features, sums.weight, sums.bias
        ctx.positions = len(features)
        return total / len(features)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("the gradients of this loss have been used; compute it again")
        kinds = (ctx.kinds[0], ctx.kinds[1], ctx.kinds[1])
        made = zip(ctx.gradients, kinds, strict=True)
        gradients = [gradient.to(kind).mul_(outer / ctx.positions) for gradient, kind in made]
        ctx.gradients = None
        return *gradients, None, None, None


class _Sums:
    """Gradients of weight and bias, summed over chunks in float32 or better."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        kind = torch.promote_types(weight.dtype, torch.float32)
        self.weight = torch.zeros_like(weight, dtype=kind)
        self.bias = torch.zeros_like(bias, dtype=kind)

    def add(self, change: Tensor, features: Tensor) -> None:
        """Add those of a chunk."""
        if change.dtype == self.weight.dtype:
            self.weight.addmm_(change.T, features)
        else:
            self.weight += change.T @ features
        self.bias += change.sum(0, dtype=self.bias.dtype)


def _loss_and_gradient(logits: Tensor, expected: Tensor, smoothing: float) -> Tensor:
    """Return the loss, summed over positions, and turn ``logits`` into its gradient.

    Everything in place and one exponential: passes over the logits are what a loss costs.
    """
    wanted = logits.gather(1, expected).squeeze(1) * (1 - smoothing)
    if smoothing:
        wanted += logits.mean(1) * smoothing
    largest = logits.amax(1, keepdim=True)
    total = logits.sub_(largest).exp_().sum(1, keepdim=True)
    logits.div_(total)
    if smoothing:
        logits.sub_(smoothing / logits.shape[1])
    logits.scatter_add_(1, expected, logits.new_full(expected.shape, smoothing - 1))
    return (total.log_() + largest).sum() - wanted.sum()
