"""A comparison that the same command has finished before: nothing is trained, tested or drawn."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from datamodules.files import write_text
from lightning_modules.runs.checksums import BESIDE, RECORD
from lightning_modules.runs.provenance import HARNESS, code_versions
from lightning_modules.runs.settings import flatten

log = logging.getLogger(__name__)

MARK = "finished.sha256"
"""File of a finished comparison: the digest of all that its report depends on."""
PAGE = "report.html"
ROOT = Path(__file__).parents[2]


def end_if_finished(config: DictConfig) -> None:
    """End the command with status 0 if nothing has changed since it finished."""
    out = Path(config.hydra.sweep.dir)
    mark = out / MARK
    if config.force or not (out / PAGE).is_file() or not mark.is_file():
        return
    if mark.read_text(encoding="utf-8", errors="replace").strip() == _digest(config, out):
        log.info("%s: finished before, nothing to do; open %s", out, out / PAGE)
        log.info("force=true trains anew; task=report runs=%s draws the report again", out)
        raise SystemExit(0)


def mark_finished(config: DictConfig, out: Path) -> None:
    """Note that every job of a comparison has ended well and that its report is written."""
    write_text(out / MARK, f"{_digest(config, out)}\n")


def _digest(config: DictConfig, out: Path) -> str:
    """Return the digest of settings, code, files that settings name, and results of the jobs."""
    plain: Any = OmegaConf.to_container(config)
    hydra = plain.pop("hydra")
    content = [
        plain,
        hydra["overrides"]["task"],
        hydra["sweeper"]["params"],
        code_versions(config),
        _stamps(_files_of_harness()),
        _stamps(_named_files(plain)),
        [
            (file.parent.name, file.with_name(BESIDE).read_text(encoding="utf-8"))
            for file in sorted(out.glob(f"*/{RECORD}"))
            if file.with_name(BESIDE).is_file()
        ],
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _files_of_harness() -> Iterator[Path]:
    """Yield all files of the harness, since reports depend on templates too."""
    for package in HARNESS:
        yield from (file for file in (ROOT / package).rglob("*.*") if file.suffix != ".pyc")


def _named_files(config: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files that values of the configuration name, and the files of folders."""
    for key, value in flatten(config).items():
        if isinstance(value, str) and value and not key.endswith(("outputs", "cache_dir")):
            path = Path(value)
            yield from path.glob("*") if path.is_dir() else [path]


def _stamps(paths: Iterator[Path]) -> list[tuple[str, int, int]]:
    """Return size and time of the last change of each file that exists."""
    return sorted(
        (str(path), status.st_size, status.st_mtime_ns)
        for path in paths
        if path.is_file()
        for status in [path.stat()]
    )
