"""The processor of this machine."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

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
