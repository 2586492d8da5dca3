"""Products of matrices by oneDNN, where ``kernels.precision`` chooses it, with their gradients.

``LinearLayer`` multiplies by them. In a search its weights are laid out once for all steps: in
float32, or as integers of eight bits (``packed_weights``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from typing_extensions import override

from lightning_modules.kernels.precision import (
    onednn_multiplies,
    search_weights,
    sums_int8_in_32_bits,
)
from lightning_modules.library_internals import onednn_linear, onednn_weight

Product = Callable[[Tensor], Tensor]  # `x -> x @ weightᵀ + bias`, `(…, columns) -> (…, rows)`
Pack = Callable[[Tensor, Tensor | None], Product]
"""Makes the product by a weight ``(rows, columns)`` and a bias ``(rows,)``."""

MANY, LARGE, STEP = 256, 1 << 18, 64
"""Products with ``MANY`` rows, or ``LARGE`` results, come in multiples of ``STEP`` rows."""
CACHE_LINE = 64  # in bytes
LARGEST = 127  # largest integer that stands for a weight


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``inputs @ weightᵀ + bias``, with gradients: ``(…, columns) -> (…, rows)``."""
    if not onednn_multiplies(inputs, weight.shape[0]):
        return functional.linear(inputs, weight, bias)
    if not torch.is_grad_enabled():
        return onednn(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias)


def multiply(
    left: Tensor, right: Tensor, onto: Tensor | None = None, aligned: bool = False
) -> Tensor:
    """Return ``onto + left @ right``, ``(rows, columns)``, without gradients.

    ``onto`` is ``(columns,)`` or ``(rows, columns)``. In an ``aligned`` result of torch, every row
    begins at a cache line, with a gap after the row before: MKL multiplies matrices with such rows
    faster, for example logits of 5,003 words. Not in bfloat16: on a processor with AMX, oneDNN then
    multiplies what stands in the gap by 0, and that may be NaN.
    """
    if not onednn_multiplies(left, right.shape[1]):
        gaps = aligned and left.dtype != torch.bfloat16
        out = _aligned(len(left), right.shape[1], left) if gaps else None
        if onto is None:
            return torch.mm(left, right, out=out)
        return torch.addmm(onto, left, right, out=out)
    if onto is None or onto.dim() == 1:
        return onednn(left, right.t(), onto)
    return onednn_linear(_dense(left), _dense(right.t()), onto=onto.contiguous())


def multiply_transposed(left: Tensor, right: Tensor, total: Tensor | None = None) -> Tensor:
    """Return ``total + leftᵀ @ right`` without gradients; ``total`` is used up.

    So the gradient of a matrix follows from its two factors.
    """
    if not onednn_multiplies(left, right.shape[1]):
        return left.t() @ right if total is None else total.addmm_(left.t(), right)
    if over := _over(left.shape[0], right.shape[1]):
        start = multiply_transposed(left[:-over], right[:-over], total)
        return start.addmm_(left[-over:].t(), right[-over:])
    if left.shape[1] <= right.shape[1]:  # oneDNN copies the transposed factor: the smaller one
        return multiply(left.t(), right, total)
    return multiply(right.t(), left, None if total is None else total.t()).t()


def onednn(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``inputs @ weightᵀ + bias`` by oneDNN, without gradients; ``weight`` may be packed."""
    flat, weight = _dense(inputs.flatten(0, -2)), _dense(weight)
    over = _over(rows := flat.shape[0], weight.shape[0])
    if over and (weight.is_mkldnn or weight.shape[1] <= weight.shape[0]):  # copy the smaller side
        result = onednn_linear(functional.pad(flat, (0, 0, 0, STEP - over)), weight, bias)[:rows]
    elif over:
        rest = functional.linear(flat[-over:], weight, bias)
        result = torch.cat([onednn_linear(flat[:-over], weight, bias), rest])
    else:
        result = onednn_linear(flat, weight, bias)
    # As in torch's own products, the result is not a view: operators in place may follow.
    return result.view(*inputs.shape[:-1], weight.shape[0]).data


def _aligned(rows: int, columns: int, like: Tensor) -> Tensor:
    """Return an empty matrix ``(rows, columns)`` whose rows begin at cache lines."""
    numbers = CACHE_LINE // like.itemsize
    return like.new_empty(rows, -(-columns // numbers) * numbers)[:, :columns]


def _over(rows: int, columns: int) -> int:
    """Return by how many rows a large product exceeds a multiple of ``STEP``.

    OneDNN keeps code and memory for every size of a product, and every batch has another number of
    rows: without multiples of ``STEP``, a training would need half as much memory again.
    """
    return rows % STEP if rows >= MANY or (rows > STEP and rows * columns >= LARGE) else 0


def _dense(matrix: Tensor) -> Tensor:
    """Return a matrix without gaps; oneDNN multiplies any other a thousand times more slowly."""
    if matrix.is_mkldnn or matrix.is_contiguous() or matrix.t().is_contiguous():
        return matrix
    return matrix.contiguous()


class _Linear(torch.autograd.Function):
    """The operator of oneDNN has no gradients of its own."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return onednn(inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        needs_inputs, needs_weight, needs_bias = ctx.needs_input_grad
        flat = grad_output.flatten(0, -2)
        grad_inputs = grad_weight = grad_bias = None
        if needs_inputs:
            grad_inputs = multiply(flat, weight).view_as(inputs)
        if needs_weight:
            grad_weight = multiply_transposed(flat, inputs.flatten(0, -2))
        if needs_bias:
            grad_bias = flat.sum(0)
        return grad_inputs, grad_weight, grad_bias


class Packable(ABC):
    """A module whose steps can multiply by packed weights."""

    @abstractmethod
    def pack(self, pack: Pack | None) -> None:
        """Pack the weights; None forgets the packed weights."""


class LinearLayer(nn.Linear, Packable):
    """``nn.Linear`` with the products of this module, or with packed weights."""

    _packed: Product | None = None

    @override
    def forward(self, inputs: Tensor) -> Tensor:
        if not torch.compiler.is_compiling() and self._packed is not None:
            return self._packed(inputs)
        return linear(inputs, self.weight, self.bias)

    @override
    def pack(self, pack: Pack | None) -> None:
        self._packed = None if pack is None else pack(self.weight, self.bias)


@contextmanager
def packed_weights(model: nn.Module, int8: bool) -> Iterator[None]:
    """Pack the weights of a model, which do not change meanwhile, and forget the packed weights.

    Raises ``UserError`` for ``int8`` where ``kernels.precision`` has no such products.
    """
    kind = search_weights(model, int8)
    packs: dict[str | None, Pack] = {"int8": Int8Product, "onednn": OnednnProduct}
    pack = packs.get(kind)
    layers = [module for module in model.modules() if isinstance(module, Packable)]
    try:
        for layer in layers if pack else ():
            layer.pack(pack)
        yield
    finally:
        for layer in layers:
            layer.pack(None)


class CastWeights:
    """The weights of a model's linear layers in the type of autocast, cast once for many steps."""

    def __init__(self, model: nn.Module) -> None:
        self._layers = [layer for layer in model.modules() if isinstance(layer, LinearLayer)]
        self._cast: dict[Tensor, Tensor] = {}
        self._dtype = torch.float32

    def renew(self, dtype: torch.dtype) -> None:
        """Cast the weights again, to the same memory for the same ``dtype``."""
        if dtype != self._dtype:
            self._dtype, self._cast = dtype, {}
        if self._cast:
            torch._foreach_copy_([*self._cast.values()], [*self._cast])

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let the layers multiply by the cast weights within the block, without gradients."""
        try:
            for layer in self._layers:
                layer.pack(self._product)
            yield
        finally:
            for layer in self._layers:
                layer.pack(None)

    def _product(self, weight: Tensor, bias: Tensor | None) -> Product:
        return lambda inputs: functional.linear(
            inputs, self._of(weight), None if bias is None else self._of(bias)
        )

    def _of(self, weight: Tensor) -> Tensor:
        """Return a cast weight; only those of layers that are used are ever cast."""
        if weight not in self._cast:
            self._cast[weight] = weight.detach().to(self._dtype)
        return self._cast[weight]


class OnednnProduct:
    """A product by oneDNN, or by torch if the product is small."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias
        self._packed = onednn_weight(weight)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Multiply ``inputs`` ``(…, columns)``."""
        # A packed weight is not laid out again: a quarter of the multiplications is enough.
        if not onednn_multiplies(inputs, 4 * len(self._weight)):
            return functional.linear(inputs, self._weight, self._bias)
        return onednn(inputs, self._packed, self._bias)


class Int8Product:
    """A product of integers of eight bits.

    Each row of the weight has a scale, and each row of the inputs has another: so the result of a
    sentence does not depend on the other sentences of its batch.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight = weight.float()
        self._scales = _scales(weight, LARGEST).squeeze(1)
        self._largest_input = LARGEST if sums_int8_in_32_bits() else LARGEST // 2
        integers = (weight / self._scales.unsqueeze(1)).round_().to(torch.int8)
        self._packed = torch.ops.onednn.qlinear_prepack(integers, None)
        self._zeros = torch.zeros(len(weight), dtype=torch.long)
        self._bias = weight.new_zeros(()) if bias is None else bias.float()

    def __call__(self, inputs: Tensor) -> Tensor:
        """Multiply ``inputs`` ``(…, columns)``."""
        flat = inputs.flatten(0, -2).float()
        if not len(flat):
            return inputs.new_zeros(*inputs.shape[:-1], len(self._scales))
        scales, zero = _scales(flat, self._largest_input), self._largest_input + 1
        # OneDNN's fast kernel takes unsigned inputs, with a number that stands for zero.
        integers = torch.div(flat, scales).add_(zero).round_().to(torch.uint8)
        product = torch.ops.onednn.qlinear_pointwise(
            *(integers, 1.0, zero, self._packed, self._scales, self._zeros, None),
            *(1.0, 0, torch.float32, "none", [], ""),
        )
        result = torch.addcmul(self._bias, product, scales, out=product)
        return result.view(*inputs.shape[:-1], -1).to(inputs.dtype)


def _scales(matrix: Tensor, largest: int) -> Tensor:
    """Return the size of the integer 1 in each row, ``(rows, 1)``, with integers to ``largest``."""
    return matrix.abs().amax(1, keepdim=True).div_(largest).clamp_(min=1e-30)
