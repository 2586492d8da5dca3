"""Versions of the code that made a run."""

import hashlib
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

SCORES = ("model.attention.score", "model.intra_attention.score")


def git_commit() -> str | None:
    """Return the git commit, with ``+changes`` for changed files; None outside of git."""
    root = Path(__file__).parents[2]

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def code_version() -> str:
    """Return twelve hexadecimal digits, a hash of all code that trains a model."""
    root = Path(__file__).parents[2]
    packages = (root / "datamodules", root / "lightning_modules")
    endings = ("*.py", "*.txt")  # word lists too
    files = [file for package in packages for end in endings for file in package.rglob(end)]
    content = [
        f"{file.relative_to(root)}\n{file.read_text(encoding='utf-8')}" for file in sorted(files)
    ]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()[:12]


def code_of(config: DictConfig) -> str:
    """Return ``code_version``; for a user's score functions, add a plus and a hash of the files."""
    names = (str(OmegaConf.select(config, score)) for score in SCORES)
    files = sorted({file for name in names if (file := _file_of(name))})
    if not files:
        return code_version()
    digits = hashlib.sha256(b"\n".join(Path(file).read_bytes() for file in files)).hexdigest()
    return f"{code_version()}+{digits[:12]}"


def _file_of(name: str) -> str | None:
    """Return the file of a class that is named by a dotted path; None for a short name."""
    module = name.rpartition(".")[0]
    try:
        spec = find_spec(module) if module else None
    except (ImportError, ValueError):  # building the model gives a better message
        return None
    return spec.origin if spec is not None and spec.has_location else None
