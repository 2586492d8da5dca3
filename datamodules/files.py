"""Files written whole or not at all, locks between processes, places that a command names."""

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from datamodules.errors import UserError

STREAM = "-"  # standard input or output
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
QUOTE = "'"  # spreadsheets show a cell that begins with this character as text
STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", QUOTE)
SIGNED_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")
Value = TypeVar("Value")
_TEMPORARY = re.compile(r"\..+\.\d+\.part(\..+)?")  # names of the files of ``whole_file``


def make_folder(folder: Path) -> None:
    """Make a folder and its parents. Raises ``UserError`` where there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: this folder cannot be made ({error.strerror}); write elsewhere "
            "(outputs=DIR, cache_dir=DIR, output=FILE)"
        ) from None


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
    make_folder(path.parent)
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


def keep_file(file: Path, copy: Path) -> None:
    """Let ``copy``, a new file, have the content that ``file`` has now.

    Where the file system has hard links, the two share their room on the disk until ``whole_file``
    replaces one of them.
    """
    try:
        os.link(file, copy)
    except OSError:
        with whole_file(copy) as temporary:
            shutil.copyfile(file, temporary)


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

    make_folder(path.parent)
    lock = FileLock(path)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        on_wait()
        held = lock.acquire()
    with held:
        yield


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of ``locked``; many may ask at once."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared with others that ask
        except BlockingIOError:
            return True
    return False


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


def what_is(path: Path) -> str:
    """Return what lies at a path where a file is wanted: ``is a folder``, ``does not exist``."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "is a link to nothing" if path.is_symlink() else "does not exist"
    except OSError as error:
        return f"cannot be opened ({error.strerror})"
    return f"is {KINDS.get(stat.S_IFMT(mode), 'a file')}"


def check_outputs(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> None:
    """Check that each output can be written, and replaces no other file of the command.

    The files are given by setting; ``-`` is standard output, None no file. Raises ``UserError``
    that names the setting of the first file that cannot be written.
    """
    files = {setting: name for setting, name in inputs.items() if name not in (None, STREAM)}
    taken = {os.path.realpath(str(name)): f"{setting}={name}" for setting, name in files.items()}
    for setting, name in outputs.items():
        if name is None:
            continue
        given = f"{setting}={name}"
        place = STREAM if name == STREAM else os.path.realpath(name)
        if place in taken:
            raise UserError(f"{given}: is also {taken[place]}; give two different files")
        taken[place] = given
        if name != STREAM:
            _check_writable(given, Path(name), Path(place).parent)


def _check_writable(given: str, path: Path, folder: Path) -> None:
    if path.is_dir():
        raise UserError(f"{given}: is a folder; give a file")
    if not folder.is_dir():
        raise UserError(
            f"{given}: the folder {folder} {what_is(folder)}; make it, or correct the path"
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UserError(f"{given}: cannot be written; write elsewhere")


def as_cell(value: Value) -> Value | str:
    """Return a value for a cell of CSV; a text that could be a formula gets a quote before it.

    A number written with its sign, such as ``+1.5``, is no formula.
    """
    if not isinstance(value, str) or not value.startswith(STARTS_FORMULA):
        return value
    return value if SIGNED_NUMBER.fullmatch(value) else QUOTE + value
