"""What this machine is: its processor, and the memory of its devices."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

CPUINFO = Path("/proc/cpuinfo")
SHARE = 16  # a chunk takes at most one part in `SHARE` of the memory that is free on a GPU


class Processor(NamedTuple):
    """What Linux tells about a processor; all parts are empty elsewhere."""

    name: str
    vendor: str  # `AuthenticAMD` or `GenuineIntel`, for example
    instructions: frozenset[str]  # names of instruction sets, as Linux writes them


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
