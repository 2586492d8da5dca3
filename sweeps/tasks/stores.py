"""Stores of prepared corpora in ``cache_dir``, and the runs that name them."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from omegaconf import OmegaConf

from datamodules.errors import UserError
from datamodules.files import locked
from datamodules.preparation import INDEX
from lightning_modules.runs.files import BrokenFileError, read_result
from lightning_modules.runs.renamed import with_new_names
from lightning_modules.runs.schema import RESULT
from lightning_modules.training.factories import build_data

STORE = re.compile(r"(?P<corpus>.+)-(?P<fingerprint>[0-9a-f]{12})")
"""Name of a store."""
TRAINING = "lightning_modules.tasks.train.train"
RUN_TASKS = (TRAINING, "lightning_modules.tasks.test.test")
"""Tasks whose folders are runs."""
SETTINGS = ("data", "cleaning", "tokenizer")
"""Groups of the configuration that decide the fingerprint."""


class _InUseError(Exception):
    """Another process prepares the store."""


class NamedStores:
    """What the runs in a folder say of their stores."""

    def __init__(self, outputs: Path) -> None:
        """Read the record of each finished run below ``outputs``, and the settings of the others.

        Links to folders are not followed.
        """
        self.fingerprints: set[str] = set()
        self.unclear: dict[str, Path] = {}
        """Corpora by name for which a run has no readable fingerprint, with the run's folder."""
        self._known: dict[str, str] = {}
        for name, _, files in os.walk(outputs):
            folder = Path(name)
            config = folder / ".hydra" / "config.yaml"
            if RESULT in files and self._add_result(folder):
                continue
            if config.is_file():
                self._add_config(folder, config)

    def _add_result(self, folder: Path) -> bool:
        """Return whether a finished run says its fingerprint."""
        try:
            result = read_result(folder)
        except BrokenFileError:
            return False
        if result is None or result.data.fingerprint is None:
            return False
        self.fingerprints.add(result.data.fingerprint)
        return True

    def _add_config(self, folder: Path, file: Path) -> None:
        name = ""
        try:
            recorded: Any = OmegaConf.to_container(OmegaConf.load(file))
            plain = with_new_names(recorded)
            if plain.get("task", TRAINING) not in RUN_TASKS:  # the trials of a study have no task
                return
            name = str(plain["data"]["name"])
            self.fingerprints.add(self._fingerprint(plain))
        except Exception:  # a lost text, a class of the user, a damaged file
            self.unclear[name] = folder

    def _fingerprint(self, plain: dict[str, Any]) -> str:
        key = json.dumps([plain[group] for group in SETTINGS])
        if key not in self._known:
            config: Any = OmegaConf.create(plain)
            self._known[key] = build_data(config).fingerprint
        return self._known[key]


def remove_unused_stores(cache_dir: Path, outputs: Path) -> Iterator[str]:
    """Remove the stores in ``cache_dir`` that no run below ``outputs`` names; yield what was done.

    A store stays while another process prepares it, and while a run of its corpus has no readable
    fingerprint. Links and other folders are left alone. Raises ``UserError`` for a store that
    cannot be removed.
    """
    named, freed, removed = NamedStores(outputs), 0, 0
    for store, corpus, fingerprint in _stores(cache_dir):
        run = named.unclear.get(corpus) or named.unclear.get("")
        if fingerprint in named.fingerprints:
            continue
        if run is not None:
            yield f"{store} stays: which corpus the run {run} has cannot be read"
            continue
        try:
            size = _remove(store)
        except _InUseError:
            yield f"{store} stays: another process prepares it"
            continue
        yield f"{store} removed: {size:,} bytes"
        freed, removed = freed + size, removed + 1
    left = len(list(_stores(cache_dir)))
    yield f"prepared corpora removed: {removed}, {freed:,} bytes; left in {cache_dir}: {left}"


def _stores(cache_dir: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the stores in a folder, each with the name of its corpus and its fingerprint."""
    folders = sorted(cache_dir.iterdir()) if cache_dir.is_dir() else []
    for folder in folders:
        name = STORE.fullmatch(folder.name)
        if name and folder.is_dir() and not folder.is_symlink() and _is_store(folder):
            yield folder, name["corpus"], name["fingerprint"]


def _is_store(folder: Path) -> bool:
    """Whether a folder has the files of a preparation, finished or not."""
    finished = (folder / INDEX).is_file() and (folder / "train.source.tokens.npy").is_file()
    return finished or (folder / "parts" / "00000.source").is_file()


def _remove(store: Path) -> int:
    """Remove a store and return its bytes."""
    try:
        with locked(store.with_name(f".{store.name}.lock"), _leave_alone):
            size = sum(file.lstat().st_size for file in store.rglob("*") if not file.is_dir())
            shutil.rmtree(store)
    except OSError as error:
        raise UserError(
            f"{error.filename or store}: cannot be removed ({error.strerror or error}); remove it "
            "by hand, or give another folder with cache_dir=..."
        ) from None
    return size


def _leave_alone() -> NoReturn:
    raise _InUseError
