"""Precision of products: their dtype under autocast, and TF32 for products in float32."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import Tensor

from lightning_modules.kernels.device import this_processor

MatmulPrecision = Literal["highest", "high", "medium"]
"""Values of the setting ``matmul_precision``."""


def use_matmul_precision(precision: MatmulPrecision) -> None:
    """Let the process multiply float32 in float32 (``highest``), or also in TF32 or bfloat16.

    Cudnn, which runs RNNs, has a switch of its own, and torch's default there is TF32.
    """
    torch.set_float32_matmul_precision(precision)
    torch.backends.cudnn.allow_tf32 = precision != "highest"


def product_type(tensor: Tensor) -> torch.dtype:
    """Return the dtype in which a linear layer multiplies ``tensor`` under the current autocast."""
    return torch.get_autocast_dtype(tensor.device.type) if autocasts(tensor) else tensor.dtype


def autocasts(tensor: Tensor) -> bool:
    """Return whether autocast is on for the device of ``tensor``."""
    # Torch 2.11 cannot compile a step that calls is_autocast_available; only meta has no autocast.
    device = tensor.device.type
    return device != "meta" and torch.is_autocast_enabled(device)


def lstm_kernels(inputs: Tensor) -> AbstractContextManager[None]:
    """Keep ``torch.lstm`` off oneDNN where oneDNN has no LSTM in bfloat16: without AVX-512."""
    lacking = "avx512bw" not in this_processor().instructions
    if inputs.is_cpu and product_type(inputs) == torch.bfloat16 and lacking:
        kernels: AbstractContextManager[None] = torch.backends.mkldnn.flags(
            enabled=False, allow_tf32=False
        )
        return kernels
    return nullcontext()
