"""What a training asks its device: to finish, how much memory is used, which attention to run."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

CPUINFO = Path("/proc/cpuinfo")


class Processor(NamedTuple):
    """What Linux tells about a processor; all parts are empty elsewhere."""

    name: str
    vendor: str
    """``AuthenticAMD`` or ``GenuineIntel``, for example."""
    instructions: frozenset[str]
    """Names of instruction sets, as Linux writes them."""


@cache
def this_processor() -> Processor:
    """Return the first processor of this machine."""
    fields: dict[str, str] = {}
    if CPUINFO.is_file():
        first, _, _ = CPUINFO.read_text().partition("\n\n")
        pairs = (line.partition(":") for line in first.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in pairs}
    flags = fields.get("flags", "").split()
    return Processor(fields.get("model name", ""), fields.get("vendor_id", ""), frozenset(flags))


def runs_ahead(device: torch.device) -> bool:
    """Return whether the processor goes on while the device computes, as with a GPU."""
    return device.type != "cpu"


def wait_for(device: torch.device) -> None:
    """Wait until a GPU has done all that it was given; a CPU has done so already."""
    if runs_ahead(device):
        torch.accelerator.synchronize(device)


def peak_device_memory_mib(device: torch.device) -> float | None:
    """Return the largest memory of tensors on a GPU so far, in MiB.

    None for a CPU, and for a device that does not tell, such as the GPU of a Mac.
    """
    if not runs_ahead(device):
        return None
    try:
        return torch.accelerator.max_memory_allocated(device) / 2**20
    except RuntimeError:
        return None


def keep_attention_off_cudnn() -> None:
    """Let torch choose among its other fused kernels of attention on a GPU, in the whole process.

    CuDNN plans its kernel anew for each shape, and batches differ in shape: on an H100, a call of
    the forward or of the backward pass took 13 ms of the processor.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
