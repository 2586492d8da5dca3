"""Hardware and versions of a run."""

import platform
import resource
import sys
from importlib.metadata import version
from typing import Any

import torch

from lightning_modules.kernels.device import this_processor
from lightning_modules.kernels.precision import describe_products, products_in_use

PACKAGES = ("torch", "pytorch-lightning", "hydra-core", "tokenizers", "sacrebleu", "numpy")


def environment() -> dict[str, Any]:
    """Return versions and hardware, for ``result.json``."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "cpu": this_processor().name or platform.processor(),
        "device": gpu or "cpu",
        "threads": torch.get_num_threads(),
        "products": describe_products(None if gpu else products_in_use()),
        "matmul_precision": torch.get_float32_matmul_precision(),
    }


def peak_memory_mib() -> float:
    """Return the peak memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "linux" else peak / 1024**2
