"""The dtype of products under autocast, for functions that autocast does not cover."""

import torch
from torch import Tensor


def product_type(tensor: Tensor) -> torch.dtype:
    """Return the dtype in which a linear layer multiplies ``tensor`` under the current autocast."""
    device = tensor.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return tensor.dtype
