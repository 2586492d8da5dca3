"""How much is computed at a time: a cache's size on a CPU, a share of the free memory on a GPU."""

from functools import cache

import torch

SHARE = 16
"""A chunk takes at most one part in ``SHARE`` of the memory that is free on a GPU."""


def chunk_size(device: torch.device, bytes_each: int, on_cpu: int) -> int:
    """Return how many rows of ``bytes_each`` bytes make a chunk; ``on_cpu`` at least."""
    return max(on_cpu, room_on(device) // bytes_each)


@cache
def room_on(device: torch.device) -> int:
    """Return the bytes of a chunk on a device; 0 for a CPU, or if the device does not tell.

    The device is asked once: chunks of another size would change the last digits of sums, and a
    question costs time. The power of two makes the answer the same if a little less memory is free.
    """
    if device.type in ("cpu", "meta"):
        return 0
    try:
        free, _ = torch.accelerator.get_memory_info(device)
    except RuntimeError:  # Apple's devices, for example
        return 0
    return 1 << (free // SHARE).bit_length() >> 1
