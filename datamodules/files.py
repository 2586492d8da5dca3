"""Atomic file writes, and locks between processes."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TEMPORARY = re.compile(r"\..+\.\d+\.part(\..+)?")
"""Names of the files of ``whole_file``."""


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it to ``path`` only on success.

    Missing folders are created. If the block fails (an exception, a full disk), no half-written
    ``path`` and no temporary file remain. Links are followed. A device or a pipe cannot be replaced
    by a file, so the path of the device or pipe itself is yielded. Raises ``OSError`` with the name
    of the file.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last, because libraries choose the format by the suffix.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a failed write does not name its file
        raise
    finally:
        temporary.unlink(missing_ok=True)


def remove_half_written(folder: Path) -> None:
    """Remove the temporary files that killed processes left in ``folder``, not in its subfolders.

    Call the function only while no other process writes into the folder.
    """
    for file in folder.glob(".*.part*"):
        if _TEMPORARY.fullmatch(file.name):
            file.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Run the block in one process at a time; ``path`` is an empty file, created if missing.

    ``on_wait`` is called if another process holds the lock. The kernel frees the lock when the
    process ends, even after a crash.
    """
    from filelock import FileLock, Timeout  # imported late to keep --help fast

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        on_wait()
        held = lock.acquire()
    with held:
        yield


def write_text(path: Path | str, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Write ``value`` as indented JSON, atomically. Raises ``ValueError`` for NaN or infinity."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return ``value`` as indented JSON. Raises ``ValueError`` for NaN or infinity."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
