"""Where and with what a run was made."""

import hashlib
import platform
import resource
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("torch", "pytorch-lightning", "hydra-core", "tokenizers", "sacrebleu", "numpy")


def environment() -> dict[str, Any]:
    """Versions and hardware, for ``result.json``."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "cpu": _cpu(),
        "device": gpu or "cpu",
        "threads": torch.get_num_threads(),
    }


def peak_memory_mib() -> float:
    """Most memory this process has held so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "linux" else peak / 1024**2


def git_commit() -> str | None:
    """Commit of the checkout, with ``+changes`` if files differ from it; None outside of git."""
    root = Path(__file__).parent.parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def code_version() -> str:
    """Twelve hexadecimal digits that change with any line of what trains a model."""
    root = Path(__file__).parent.parent
    files = [
        file
        for name in ("datamodules", "lightning_modules")
        for file in root.glob(f"{name}/**/*.py")
    ]
    content = [
        f"{file.relative_to(root)}\n{file.read_text(encoding='utf-8')}" for file in sorted(files)
    ]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()[:12]


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
