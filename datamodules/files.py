"""Files written whole or not at all, and locks between processes."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it to ``path`` only on success.

    The folder is made when missing. Whatever interrupts the block (an exception, a full disk)
    leaves neither ``path`` half-written nor the temporary file behind. A link is followed; a
    device or a pipe, which nothing may replace, is written to directly.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # The ending stays last: libraries choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a failed write does not name its file
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let one process at a time into the block; ``path`` is an empty file, made when missing.

    ``waits`` is called if another is in there. The kernel lets the next one in when a process ends,
    however it ends. Some network file systems have no locks; there all enter.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        with suppress(OSError):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waits()
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_text(path: Path | str, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Write ``value`` as indented JSON, whole or not at all; NaN is refused (it is not JSON)."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")
