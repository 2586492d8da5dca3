"""The precision and the kernels of all computation, chosen by settings and by the device.

- ``matmul_precision``: float32 products in float32, or also in TF32 (``use_matmul_precision``);
- ``products``: float32 products on a CPU by oneDNN or by torch (``choose_products``);
- ``trainer.precision``: float32, bfloat16 or float16, which Lightning applies; ``product_type`` is
  the dtype that follows from it. float16 is refused without a GPU (``ranks_to_start``), and has no
  fused optimizer (``build_optimizer``);
- ``decoding.bf16`` and ``decoding.int8``: ``search_autocast`` and ``search_weights``;
- attention by torch's own kernels on a GPU, and in float32 where bfloat16 is slow on a CPU;
- explicit types for the kernels of RNNs on a GPU, and no oneDNN for an LSTM that it lacks;
- float32 for the states of linear recurrences, which are sums over a sentence.

Nothing here is timed: jobs side by side must choose alike.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn

from datamodules.errors import UserError
from lightning_modules.kernels.device import Processor, this_processor

MatmulPrecision = Literal["highest", "high", "medium"]
Products = Literal["auto", "onednn", "torch"]

ONEDNN_FROM_ZEN_5, ONEDNN_FROM = 1 << 20, 1 << 24
"""Multiplications from which oneDNN saves more time than its call costs, on AMD's processors with
512-bit units (Zen 5) and with 256-bit units (Zen 4); see docs/findings/performance.md."""

_onednn_from: int | None = None


def needs_gpu(precision: Any) -> bool:
    """Return whether only GPUs support a ``trainer.precision``."""
    return str(precision) in ("16-mixed", "16", "16-true")


def is_scaled(precision: Any) -> bool:
    """Return whether Lightning trains with a gradient scaler in a ``trainer.precision``."""
    return str(precision) in ("16-mixed", "16")


def use_matmul_precision(precision: MatmulPrecision) -> None:
    """Let the process multiply float32 in float32 (``highest``), or also in TF32 or bfloat16.

    Cudnn, which runs RNNs, has a switch of its own, and torch's default there is TF32.
    """
    torch.set_float32_matmul_precision(precision)
    torch.backends.cudnn.allow_tf32 = precision != "highest"


def keep_attention_off_cudnn() -> None:
    """Let torch choose among its other fused kernels of attention on a GPU, in the whole process.

    CuDNN plans its kernel anew for each shape, and batches differ in shape: on an H100, a call of
    the forward or of the backward pass took 13 ms of the processor.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def choose_products(products: Products, processor: Processor | None = None) -> int | None:
    """Return the multiplications from which oneDNN computes a product; None for never.

    MKL, to which torch sends float32 products, uses narrow instructions on processors of AMD.
    OneDNN, a part of torch too, uses the widest instructions, but a call costs more.
    """
    _, vendor, instructions = processor or this_processor()
    amd = vendor == "AuthenticAMD" and "avx512f" in instructions
    gains = amd and torch.backends.mkldnn.is_available()
    if products == "torch" or (products == "auto" and not gains):
        return None
    # Zen 5 is the first of AMD's processors with both.
    return ONEDNN_FROM_ZEN_5 if amd and "avx_vnni" in instructions else ONEDNN_FROM


def use_products(onednn_from: int | None) -> None:
    """Let oneDNN compute products of at least so many multiplications; None for no product.

    Before the first call, torch multiplies. Raises ``UserError`` for a torch without oneDNN.
    """
    if onednn_from is not None and not torch.backends.mkldnn.is_available():
        raise UserError(
            "products=onednn: this torch has no oneDNN; set products=auto, and force=true for a "
            "training that began with oneDNN"
        )
    global _onednn_from
    _onednn_from = onednn_from


def products_in_use() -> int | None:
    """Return the argument of the last ``use_products``."""
    return _onednn_from


@contextmanager
def products_by_torch() -> Iterator[None]:
    """Let torch compute every product within the block, for example to count operations."""
    before = products_in_use()
    use_products(None)
    try:
        yield
    finally:
        use_products(before)


def describe_products(onednn_from: int | None) -> str:
    """Return a choice in words, for records and conditions."""
    return "torch" if onednn_from is None else f"oneDNN from {onednn_from:,} multiplications"


def onednn_multiplies(left: Tensor, columns: int) -> bool:
    """Return whether oneDNN multiplies ``left`` ``(…, inner)`` by a matrix with ``columns``.

    Other dtypes, other devices, autocast and ``torch.compile`` always multiply as torch does.
    """
    return (
        _onednn_from is not None
        and not torch.compiler.is_compiling()
        and left.dim() > 1
        and left.dtype == torch.float32
        and left.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
        and left.numel() * columns >= max(1, _onednn_from)
    )


def product_type(tensor: Tensor) -> torch.dtype:
    """Return the dtype in which a linear layer multiplies ``tensor`` under the current autocast."""
    return torch.get_autocast_dtype(tensor.device.type) if autocasts(tensor) else tensor.dtype


def autocasts(tensor: Tensor) -> bool:
    """Return whether autocast is on for the device of ``tensor``."""
    # Torch 2.11 cannot compile a step that calls is_autocast_available; only meta has no autocast.
    device = tensor.device.type
    return device != "meta" and torch.is_autocast_enabled(device)


def search_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Multiply in bfloat16, as in a search with ``decoding.bf16``."""
    return torch.autocast(device.type, torch.bfloat16)


def search_weights(model: nn.Module, int8: bool) -> Literal["int8", "onednn"] | None:
    """Return how the weights of a model are laid out for all steps of a search; None: as they are.

    In float32, only where oneDNN computes the products of a model on a CPU. Raises ``UserError``
    for ``int8`` without oneDNN, or on another device than a CPU.
    """
    parameters = list(model.parameters())
    on_cpu = all(parameter.device.type == "cpu" for parameter in parameters)
    if int8:
        if not on_cpu or not torch.backends.mkldnn.is_available():
            raise UserError(
                "decoding.int8=true: needs a CPU and a torch with oneDNN; set decoding.int8=false"
            )
        return "int8"
    single = all(parameter.dtype == torch.float32 for parameter in parameters)
    return "onednn" if single and on_cpu and products_in_use() is not None else None


def sums_int8_in_32_bits() -> bool:
    """Return whether the processor adds products of int8 in 32 bits, not in 16 bits."""
    return bool({"avx512_vnni", "avx_vnni"} & this_processor().instructions)


def fused_attention_type(query: Tensor) -> torch.dtype:
    """Return the dtype of torch's fused attention: float32 for bfloat16 on a CPU.

    There the backward pass in bfloat16 is seven times slower.
    """
    slow = query.device.type == "cpu" and query.dtype == torch.bfloat16
    return torch.float32 if slow else query.dtype


def needs_types(inputs: Tensor) -> bool:
    """Return whether kernels of RNNs need explicit types, as on a GPU.

    Autocast casts the arguments of cuDNN's kernels to float16, also where products are in bfloat16,
    and then without a gradient scaler. So on a GPU all arguments are cast to the type of products
    before the call, and autocast is off within the call.
    """
    return not inputs.is_cpu


def in_product_type(
    inputs: Tensor, hidden: Tensor, cell: Tensor | None, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor | None, Sequence[Tensor]]:
    """Cast the arguments of an RNN's kernel; on a CPU, leave them as they are."""
    if not needs_types(inputs):
        return inputs, hidden, cell, weights
    dtype = product_type(inputs)
    inputs, hidden, *weights = (tensor.to(dtype) for tensor in (inputs, hidden, *weights))
    return inputs, hidden, None if cell is None else cell.to(dtype), weights


def types_as_given(inputs: Tensor) -> AbstractContextManager[object]:
    """Switch autocast off where arguments have been cast."""
    if needs_types(inputs) and autocasts(inputs):
        return torch.autocast(inputs.device.type, enabled=False)
    return nullcontext()


def without_autocast(tensor: Tensor) -> AbstractContextManager[object]:
    """Switch autocast off for what must not be rounded to half precision."""
    return torch.autocast(tensor.device.type, enabled=False) if autocasts(tensor) else nullcontext()


def lstm_kernels(inputs: Tensor) -> AbstractContextManager[object]:
    """Keep ``torch.lstm`` off oneDNN where oneDNN has no LSTM in bfloat16: without AVX-512."""
    lacking = "avx512bw" not in this_processor().instructions
    if inputs.is_cpu and product_type(inputs) == torch.bfloat16 and lacking:
        return torch.backends.mkldnn.flags(enabled=False, allow_tf32=False)
    return nullcontext()
