"""Which code made a run."""

import hashlib
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

SCORES = ("model.attention.score", "model.intra_attention.score")


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


def code_of(config: DictConfig) -> str:
    """``code_version``; after a plus, digits that change with files of scores of one's own."""
    names = (str(OmegaConf.select(config, score)) for score in SCORES)
    files = sorted({file for name in names if (file := _file_of(name))})
    if not files:
        return code_version()
    own = hashlib.sha256(b"\n".join(Path(file).read_bytes() for file in files)).hexdigest()
    return f"{code_version()}+{own[:12]}"


def _file_of(name: str) -> str | None:
    """The file of a class outside of this project; None for a name of its own."""
    module = name.rpartition(".")[0]
    try:
        found = find_spec(module) if module else None
    except (ImportError, ValueError):  # whoever builds the model says so better
        return None
    return found.origin if found is not None and found.has_location else None
