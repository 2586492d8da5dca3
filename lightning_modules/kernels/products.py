"""Float32 products of matrices on a CPU, by oneDNN where oneDNN is faster than torch's choice.

Torch sends these products to MKL, which uses narrow instructions on processors of AMD. OneDNN, a
part of torch too, uses the widest instructions, but a call costs more. So the processor and the
size of a product decide, never a timing: jobs side by side must choose alike.

``use`` sets the choice of the whole process; before, torch multiplies. Other dtypes, other devices,
autocast and ``torch.compile`` always multiply as torch does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from datamodules.errors import UserError
from lightning_modules.kernels.device import Processor, this_processor

Products = Literal["auto", "onednn", "torch"]
"""Values of the setting ``products``."""

WIDE, NARROW = 1 << 20, 1 << 24
"""Multiplications from which oneDNN saves more time than its call costs, on AMD's processors with
512-bit units (Zen 5) and with 256-bit units (Zen 4); see docs/performance.md."""
MANY, LARGE, STEP = 256, 1 << 18, 64
"""Products with ``MANY`` rows, or ``LARGE`` results, come in multiples of ``STEP`` rows."""

_onednn_from: int | None = None


def choose(products: Products, processor: Processor | None = None) -> int | None:
    """Return the multiplications from which oneDNN computes a product; None for never.

    Args:
        products: the setting.
        processor: None for that of this machine.
    """
    _, vendor, instructions = processor or this_processor()
    amd = vendor == "AuthenticAMD" and "avx512f" in instructions
    gains = amd and torch.backends.mkldnn.is_available()
    if products == "torch" or (products == "auto" and not gains):
        return None
    # Zen 5 is the first of AMD's processors with both.
    return WIDE if amd and "avx_vnni" in instructions else NARROW


def use(onednn_from: int | None) -> None:
    """Let oneDNN compute products of at least so many multiplications; None for no product.

    Raises ``UserError`` for a torch without oneDNN.
    """
    if onednn_from is not None and not torch.backends.mkldnn.is_available():
        raise UserError(
            "products=onednn: this torch has no oneDNN; set products=auto, and force=true for a "
            "training that began with oneDNN"
        )
    global _onednn_from
    _onednn_from = onednn_from


@contextmanager
def by_torch_alone() -> Iterator[None]:
    """Let torch compute every product within the block, for example to count operations."""
    before = in_use()
    use(None)
    try:
        yield
    finally:
        use(before)


def in_use() -> int | None:
    """Return the argument of the last ``use``."""
    return _onednn_from


def described(onednn_from: int | None) -> str:
    """Return a choice in words, for records and conditions."""
    if onednn_from is None:
        return "torch"
    return f"oneDNN from {onednn_from:,} multiplications"


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``inputs @ weightᵀ + bias``, ``(…, rows)``, with gradients.

    Args:
        inputs: ``(…, columns)``.
        weight: ``(rows, columns)``.
        bias: ``(rows,)``.
    """
    if not by_onednn(inputs, weight.shape[0]):
        return functional.linear(inputs, weight, bias)
    if not torch.is_grad_enabled():
        return onednn(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias)


def multiply(left: Tensor, right: Tensor, onto: Tensor | None = None) -> Tensor:
    """Return ``onto + left @ right``, ``(rows, columns)``, without gradients.

    ``onto`` is ``(columns,)`` or ``(rows, columns)``.
    """
    if not by_onednn(left, right.shape[1]):
        return left @ right if onto is None else torch.addmm(onto, left, right)
    if onto is None or onto.dim() == 1:
        return onednn(left, right.t(), onto)
    return torch.ops.mkldnn._linear_pointwise.binary(
        _dense(left), onto.contiguous(), _dense(right.t()), None, "add"
    )


def multiply_transposed(left: Tensor, right: Tensor, total: Tensor | None = None) -> Tensor:
    """Return ``total + leftᵀ @ right`` without gradients; ``total`` is used up.

    So the gradient of a matrix follows from its two factors.
    """
    if not by_onednn(left, right.shape[1]):
        return left.t() @ right if total is None else total.addmm_(left.t(), right)
    if over := _over(left.shape[0], right.shape[1]):
        start = multiply_transposed(left[:-over], right[:-over], total)
        return start.addmm_(left[-over:].t(), right[-over:])
    if left.shape[1] <= right.shape[1]:  # oneDNN copies the transposed factor: the smaller one
        return multiply(left.t(), right, total)
    return multiply(right.t(), left, None if total is None else total.t()).t()


def by_onednn(left: Tensor, columns: int) -> bool:
    """Return whether oneDNN multiplies ``left`` ``(…, inner)`` by a matrix with ``columns``."""
    return (
        _onednn_from is not None
        and not torch.compiler.is_compiling()
        and left.dim() > 1
        and left.dtype == torch.float32
        and left.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
        and left.numel() * columns >= max(1, _onednn_from)
    )


def onednn(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``inputs @ weightᵀ + bias`` by oneDNN, without gradients; ``weight`` may be packed."""
    flat, weight = _dense(inputs.flatten(0, -2)), _dense(weight)
    over = _over(rows := flat.shape[0], weight.shape[0])
    if over and (weight.is_mkldnn or weight.shape[1] <= weight.shape[0]):  # copy the smaller side
        result = _pointwise(functional.pad(flat, (0, 0, 0, STEP - over)), weight, bias)[:rows]
    elif over:
        rest = functional.linear(flat[-over:], weight, bias)
        result = torch.cat([_pointwise(flat[:-over], weight, bias), rest])
    else:
        result = _pointwise(flat, weight, bias)
    # As in torch's own products, the result is no view: operators in place may follow.
    return torch.ops.aten._unsafe_view(result, [*inputs.shape[:-1], weight.shape[0]])


def _pointwise(flat: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    result: Tensor = torch.ops.mkldnn._linear_pointwise.default(flat, weight, bias, "none", [], "")
    return result


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
