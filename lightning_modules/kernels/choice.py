"""Which kernels a process computes with: one policy, by settings, device and what a model offers.

``kernels=auto`` takes the fastest on a CUDA GPU and PyTorch's own elsewhere; ``kernels=plain`` takes
PyTorch's own everywhere, to look for a mistake. Nothing here is timed: what was measured decides,
so that the same command chooses the same kernels on every machine with that device.
"""

from functools import cache
from importlib.util import find_spec
from typing import Literal, NamedTuple

import torch

KernelSetting = Literal["auto", "plain"]


class Kernels(NamedTuple):
    """The kernels of a process; the defaults are PyTorch's own."""

    rows: bool = False  # Triton's kernels of rows: the loss, additive attention, best tokens
    packed: bool = False  # a Transformer trains on packed sentences, without padding
    capture: bool = False  # an update is replayed as one CUDA graph for each shape of a batch
    captured_search: bool = False  # and so is a step of a search


PLAIN = Kernels()
_in_use = PLAIN


@cache
def has_triton() -> bool:
    """Return whether Triton is installed; torch for CUDA comes with it."""
    return find_spec("triton") is not None


def use_kernels(kernels: Kernels) -> None:
    """Compute with these kernels from now on."""
    global _in_use
    _in_use = kernels


def kernels_in_use() -> Kernels:
    """Return the kernels of this process."""
    return _in_use


def choose_kernels(asked: KernelSetting, device: torch.device) -> Kernels:
    """Return the kernels for a device."""
    if asked == "plain" or device.type != "cuda":
        return PLAIN
    return Kernels(rows=has_triton())
