"""What made a run: versions of the code, of packages, and the hardware."""

import hashlib
import platform
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from datamodules.plugs import HARNESS, is_installed
from lightning_modules.runs.paths import ROOT
from lightning_modules.runs.settings import CLASS, Effect, values_that_affect

TRAINING_CODE = (
    "datamodules",
    *(
        f"lightning_modules/{room}"
        for room in ("attention", "decoding", "kernels", "ranks", "training", "variants")
    ),
    "lightning_modules/library_internals.py",
    "lightning_modules/metrics/bleu.py",  # equal losses in validation are decided by BLEU
    "lightning_modules/metrics/words.py",  # and words of both languages are cut there
)
"""Folders and files whose code decides the weights of a model."""
TESTING_CODE = ("lightning_modules/metrics", "lightning_modules/testing")
"""Further folders whose code decides the scores of a trained model."""
PACKAGES = ("torch", "pytorch-lightning", "hydra-core", "tokenizers", "sacrebleu", "numpy")
"""Packages whose versions a run records."""
ENDINGS = (".py", ".txt")  # word lists too


class CodeVersions(NamedTuple):
    """Hashes of the code behind a run, each with a plus and a hash of the user's classes."""

    training: str
    testing: str


def git_commit() -> str | None:
    """Return the git commit, with ``+changes`` for changed files; None outside of a checkout.

    An installed copy may lie inside the repository of another project.
    """
    if not (ROOT / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def code_versions(config: DictConfig) -> CodeVersions:
    """Return the versions of the code that trains and of the code that tests a run.

    Classes of the user that the configuration names count where their settings count.
    """
    plain: Any = OmegaConf.to_container(config)
    return CodeVersions(
        code_version(ROOT, TRAINING_CODE) + _version_of_classes(plain, ["weights"]),
        code_version(ROOT, TESTING_CODE) + _version_of_classes(plain, ["test"]),
    )


@cache
def code_version(root: Path, places: Sequence[str]) -> str:
    """Return twelve hexadecimal digits, a hash of all code in folders and files below ``root``."""
    files = [file for place in places for file in code_files(root / place)]
    content = [f"{file.relative_to(root)}\n{file.read_text(encoding='utf-8')}" for file in files]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()[:12]


def code_files(place: Path) -> list[Path]:
    """Return the code in a folder with its subfolders, or the one file, in a fixed order."""
    files = place.rglob("*") if place.is_dir() else [place]
    return sorted(file for file in files if file.suffix in ENDINGS)


def _version_of_classes(config: Mapping[str, Any], effects: Sequence[Effect]) -> str:
    """Return a plus and a hash of the user's code that settings name; empty without such code."""
    names = set(_class_names(values_that_affect(config, effects)))
    files = sorted({file for name in names for file in _files_of(name)})
    if not files:
        return ""
    digits = hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()
    return f"+{digits[:12]}"


def _class_names(value: Any) -> Iterator[str]:
    """Yield the dotted paths in a nested value."""
    if isinstance(value, str) and CLASS.fullmatch(value):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _class_names(part)


def _files_of(name: str) -> Iterable[Path]:
    """Return the files behind a dotted path of a user's class: the module, or the whole package.

    Installed packages and the harness have versions of their own.
    """
    package = name.partition(".")[0]
    if package in HARNESS:
        return []
    spec = find_spec(package)  # imports nothing
    if spec is None or not spec.has_location or spec.origin is None:
        return []
    origin = Path(spec.origin)
    if is_installed(origin):
        return []
    return code_files(origin.parent if spec.submodule_search_locations else origin)


def environment() -> dict[str, Any]:
    """Return versions and hardware, for ``result.json``."""
    import torch  # here, since --help needs code versions alone

    from lightning_modules.kernels.choice import describe_kernels, kernels_in_use
    from lightning_modules.kernels.device import this_processor
    from lightning_modules.kernels.precision import describe_products, products_in_use

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
        "kernels": describe_kernels(kernels_in_use()),
    }


def peak_memory_mib() -> float:
    """Return the peak memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "linux" else peak / 1024**2
