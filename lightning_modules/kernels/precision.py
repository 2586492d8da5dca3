"""The dtype of products under autocast, for functions that autocast does not cover."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from lightning_modules.kernels.processor import this_processor


def product_type(tensor: Tensor) -> torch.dtype:
    """Return the dtype in which a linear layer multiplies ``tensor`` under the current autocast."""
    return torch.get_autocast_dtype(tensor.device.type) if autocasts(tensor) else tensor.dtype


def autocasts(tensor: Tensor) -> bool:
    """Return whether autocast is on for the device of ``tensor``."""
    device = tensor.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def lstm_kernels(inputs: Tensor) -> AbstractContextManager[None]:
    """Keep ``torch.lstm`` off oneDNN where oneDNN has no LSTM in bfloat16: without AVX-512."""
    lacking = "avx512bw" not in this_processor().instructions
    if inputs.is_cpu and product_type(inputs) == torch.bfloat16 and lacking:
        kernels: AbstractContextManager[None] = torch.backends.mkldnn.flags(
            enabled=False, allow_tf32=False
        )
        return kernels
    return nullcontext()
