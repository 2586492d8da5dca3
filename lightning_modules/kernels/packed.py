"""Weights laid out once for all steps of a search: in float32, or as integers of eight bits.

The layers of a model that are ``Packable`` keep the packed weights beside their own weights as long
as the search lasts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from datamodules.errors import UserError
from lightning_modules.kernels import products
from lightning_modules.kernels.device import this_processor

Product = Callable[[Tensor], Tensor]
"""``x -> x @ weightᵀ + bias``, ``(…, columns) -> (…, rows)``."""
Pack = Callable[[Tensor, Tensor | None], Product]
"""Makes the product by a weight ``(rows, columns)`` and a bias ``(rows,)``."""

LARGEST = 127
"""Largest integer that stands for a weight."""


class Packable(ABC):
    """A module whose steps can multiply by packed weights."""

    @abstractmethod
    def pack(self, pack: Pack | None) -> None:
        """Pack the weights; None forgets the packed weights."""


class LinearLayer(nn.Linear, Packable):
    """``nn.Linear`` with the products of ``kernels.products``, or with packed weights."""

    _packed: Product | None = None

    @override
    def forward(self, inputs: Tensor) -> Tensor:
        """Return ``inputs @ weightᵀ + bias``."""
        if not torch.compiler.is_compiling() and self._packed is not None:
            return self._packed(inputs)
        return products.linear(inputs, self.weight, self.bias)

    @override
    def pack(self, pack: Pack | None) -> None:
        """Pack the weight and the bias; None forgets the packed weights."""
        self._packed = None if pack is None else pack(self.weight, self.bias)


@contextmanager
def packed_weights(model: nn.Module, int8: bool) -> Iterator[None]:
    """Pack the weights of a model, which do not change meanwhile, and forget the packed weights.

    In float32, only where oneDNN computes the products of the model. Raises ``UserError`` for
    ``int8`` without oneDNN, or on another device than a CPU.
    """
    if int8:
        _check_int8(model)
    single = all(parameter.dtype == torch.float32 for parameter in model.parameters())
    by_onednn = single and products.in_use() is not None
    pack: Pack | None = Int8 if int8 else Float32 if by_onednn else None
    layers = [module for module in model.modules() if isinstance(module, Packable)]
    try:
        for layer in layers if pack else ():
            layer.pack(pack)
        yield
    finally:
        for layer in layers:
            layer.pack(None)


def _check_int8(model: nn.Module) -> None:
    devices = {parameter.device.type for parameter in model.parameters()}
    if devices - {"cpu"} or not torch.backends.mkldnn.is_available():
        raise UserError(
            "decoding.int8=true: needs a CPU and a torch with oneDNN; set decoding.int8=false"
        )


class Float32:
    """A product by oneDNN, or by torch if the product is small."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())

    def __call__(self, inputs: Tensor) -> Tensor:
        """Multiply ``inputs`` ``(…, columns)``."""
        # A packed weight is not laid out again: a quarter of the multiplications is enough.
        if not products.by_onednn(inputs, 4 * len(self._weight)):
            return functional.linear(inputs, self._weight, self._bias)
        return products.onednn(inputs, self._packed, self._bias)


class Int8:
    """A product of integers of eight bits.

    Each row of the weight has a scale, and each row of the inputs has another: so the result of a
    sentence does not depend on the other sentences of its batch.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight = weight.float()
        self._scales = _scales(weight, LARGEST).squeeze(1)
        # Without these instructions, a sum of two products ends at the ends of 16 bits.
        sums_in_32_bits = {"avx512_vnni", "avx_vnni"} & this_processor().instructions
        self._largest_input = LARGEST if sums_in_32_bits else LARGEST // 2
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
