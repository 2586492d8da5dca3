"""Which code made a run."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path


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
