"""Digests of a run's files: in the run's own record, whose digest is in a file beside the record.

``result.json`` lists the SHA-256 of every file of the run that something later reads, and
``result.json.sha256`` holds that of ``result.json``, as ``sha256sum --check`` reads it.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from datamodules.errors import UserError
from datamodules.files import write_text
from lightning_modules.runs.paths import READ_LATER, RESULT, RESULT_DIGEST

_verifying = True  # whether files are checked, in all threads of the process


class BrokenFileError(UserError):
    """A damaged file of a run, or a file of a newer version."""


class ChangedFileError(BrokenFileError):
    """A file of a run is not the file that the run wrote."""


class MissingFileError(UserError):
    """A file that the run wrote is gone."""


@contextmanager
def verify_files(wanted: bool) -> Iterator[None]:
    """Check no digests within the block, unless ``wanted``."""
    global _verifying
    before, _verifying = _verifying, _verifying and wanted
    try:
        yield
    finally:
        _verifying = before


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests_of(folder: Path) -> dict[str, str]:
    """Return the digests of a run's files by their paths below its folder."""
    files = sorted(file for pattern in READ_LATER for file in folder.glob(pattern))
    return {str(file.relative_to(folder)): digest(file) for file in files if file.is_file()}


def write_sealed(record: Path, text: str) -> None:
    """Write the record of a run, and its digest beside it.

    A process that is killed in between leaves the digests of both the old and the new record.
    """
    new = hashlib.sha256(text.encode()).hexdigest()
    old = [digest(record)] if record.is_file() else []
    beside = record.with_name(RESULT_DIGEST)
    write_text(beside, "".join(f"{each}  {record.name}\n" for each in (new, *old)))
    write_text(record, text)
    write_text(beside, f"{new}  {record.name}\n")


def check_file(file: Path) -> None:
    """Compare a file of a run with the run's record, and the record with the digest beside it.

    Does nothing for a file that no record lists, such as those of unfinished runs. Raises
    ``ChangedFileError`` for a file that has changed since the run wrote it.
    """
    if not _verifying:
        return
    wanted = _recorded_digest(file)
    if wanted is not None and digest(file) != wanted:
        raise ChangedFileError(_changed(file))


def is_there(file: Path) -> bool:
    """Return whether a file of a run exists.

    Raises ``MissingFileError`` for a missing file that the record of the run lists.
    """
    if file.is_file():
        return True
    if _recorded_digest(file) is not None:
        raise MissingFileError(
            f"{file} is missing, although the run wrote it: restore it; or delete {RESULT} in that "
            "folder and repeat the run's command, which tests it again; or leave the run out"
        )
    return False


def _recorded_digest(file: Path) -> str | None:
    """Return the digest of a file in the record of its run; None without a record of the file."""
    for folder in (file.parent, file.parent.parent):
        record = folder / RESULT
        if record.is_file():
            times = map(_written, (record, record.with_name(RESULT_DIGEST)))
            return _listed(record, _verifying, *times).get(str(file.relative_to(folder)))
    return None


@lru_cache(maxsize=4096)
def _listed(record: Path, verifying: bool, *_times: int | None) -> dict[str, str]:
    """Return the digests of a record, which is checked itself if ``verifying``."""
    seal, content = record.with_name(RESULT_DIGEST), record.read_bytes()
    seals = seal.read_text(encoding="utf-8", errors="replace") if seal.is_file() else ""
    if verifying and hashlib.sha256(content).hexdigest() not in seals:
        raise ChangedFileError(_changed(record))
    try:
        files: dict[str, str] = json.loads(content).get("files", {})
    except (ValueError, AttributeError):  # whoever reads the record itself says so
        return {}
    return files


def _written(file: Path) -> int | None:
    return file.stat().st_mtime_ns if file.is_file() else None


def _changed(file: Path) -> str:
    return (
        f"{file}: is not what the run wrote (its checksum differs); give another copy, or "
        "verify=false to read the file all the same"
    )
