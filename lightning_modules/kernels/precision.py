"""The type of products under autocast, for functions that autocast does not know."""

import torch
from torch import Tensor


def product_type(tensor: Tensor) -> torch.dtype:
    """Return the type in which a linear layer would multiply ``tensor`` now."""
    device = tensor.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return tensor.dtype
