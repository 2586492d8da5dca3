"""Lines of UTF-8 files, plain or compressed, a block at a time."""

import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from datamodules.errors import UserError

BLOCK = 50_000  # lines that are read at once
COMPRESSED = (".gz", ".xz", ".zst")  # suffixes of compressed files


def read_lines(name: str | Path, option: str) -> list[str]:
    """Read the lines of a file. Raises ``UserError`` with ``option``."""
    return list(chain.from_iterable(read_blocks(Path(name), option)))


def read_blocks(path: Path, option: str = "data.root", size: int = BLOCK) -> Iterator[list[str]]:
    """Yield ``size`` lines of a file at a time.

    Only ``\\n`` and ``\\r\\n`` end a line; a byte order mark is dropped. Raises ``UserError`` that
    names ``option`` for a file that cannot be read, is damaged, empty, no UTF-8, or whose lines end
    with ``\\r`` alone.
    """
    first = 1
    for block in _raw_blocks(path, option, size):
        lines = decode_lines(path, b"".join(block), option, first)
        first += len(lines)
        yield lines
    if first == 1:
        decode_lines(path, b"", option)


def decode_lines(
    path: Path, content: bytes, option: str = "data.root", first: int = 1
) -> list[str]:
    """Split UTF-8 text, which begins at line ``first`` of ``path``, into lines.

    Raises ``UserError`` with ``path``, the line and ``option`` for bytes that are not
    UTF-8 text.
    """
    try:
        text = content.decode("utf-8-sig" if first == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first + error.object.count(b"\n", 0, error.start)
        raise UserError(
            f"{path}, line {line}: not UTF-8 (byte 0x{error.object[error.start]:02x}): convert the "
            f"file to UTF-8 or set {option}=..."
        ) from error
    if "\0" in text:
        line = first + text.count("\n", 0, text.index("\0"))
        raise UserError(
            f"{path}, line {line}: a NUL byte, so that the file is not UTF-8 text (UTF-16 has such "
            f"bytes): convert the file to UTF-8 or set {option}=..."
        )
    # Not splitlines, which also splits at characters inside sentences, such as U+2028.
    lines = text.removesuffix("\n").split("\n")
    if first == 1 and not text:
        raise UserError(f"{path} is empty: fetch it again or set {option}=...")
    if "\r" not in text:
        return lines
    lines = [line.rstrip("\r") for line in lines]
    if sum(line.count("\r") for line in lines) >= len(lines) + ("\n" in text):
        raise UserError(
            f"{path}: lines end with \\r alone, as on old Macs: convert the file "
            f"(tr '\\r' '\\n' <{path.name}) or set {option}=..."
        )
    return lines


def read_content(path: Path, option: str = "data.root", size: int = 2**20) -> Iterator[bytes]:
    """Yield the unpacked content of a file, ``size`` bytes at a time.

    Raises ``UserError`` as ``read_blocks`` does.
    """
    with _opened(path, option) as file:
        while content := file.read(size):
            yield content


def unreadable(path: Path, error: OSError, option: str) -> UserError:
    """Return the error of a file that the system does not open; ``option`` names the file."""
    why = error.strerror or error
    return UserError(f"{path} cannot be read ({why}): fix it, or set {option}=...")


def _raw_blocks(path: Path, option: str, size: int) -> Iterator[list[bytes]]:
    with _opened(path, option) as file:
        while block := list(islice(file, size)):
            yield block


@contextmanager
def _opened(path: Path, option: str) -> Iterator[IO[bytes]]:
    try:
        with _open(path) as file:
            yield file
    except _damage(path) as error:
        kind = {".gz": "gzip", ".xz": "xz"}.get(path.suffix, "zstd")
        raise UserError(
            f"{path} is truncated or not in {kind} format ({error}): fetch it again or set "
            f"{option}=..."
        ) from error
    except OSError as error:
        raise unreadable(path, error, option) from error


def _open(path: Path) -> IO[bytes]:
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    if path.suffix == ".zst":
        openers[".zst"] = zstd_module().open
    return openers.get(path.suffix, open)(path, "rb")


def _damage(path: Path) -> tuple[type[Exception], ...]:
    """Return the errors of a file that was cut or is of another kind than its suffix says."""
    if path.suffix == ".zst":
        return EOFError, zstd_module().ZstdError
    return EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError


def zstd_module() -> ModuleType:
    """Return the module of Zstandard, a compiled package that only ``.zst`` files need."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
