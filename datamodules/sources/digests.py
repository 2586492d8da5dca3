"""Digests of the content of files, remembered so that large files are read once."""

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from datamodules.files import locked, write_json
from datamodules.lines import read_content, unreadable

SETTLED = 2e9
"""Age of a change of a file, in nanoseconds, after which another change has another time."""


def digests_of(files: Sequence[Path], cache_dir: Path | None, option: str) -> list[bytes]:
    """Return the SHA-256 of the unpacked content of each file.

    ``cache_dir`` remembers the digests of files that have kept their size and time of change; None
    reads the files. Raises ``UserError``, which names ``option``, for a file that cannot be read.
    """
    if cache_dir is None:
        return [_digest(file, option) for file in files]
    kept = cache_dir / "digests.json"
    known = _known(kept)
    keys = [_key(file, option) for file in files]
    new = {
        key: _digest(file, option).hex()
        for key, file in zip(keys, files, strict=True)
        if key not in known
    }
    settled = [
        key
        for key, file in zip(keys, files, strict=True)
        if key in new and time.time_ns() - file.stat().st_mtime_ns > SETTLED
    ]
    if settled:
        with suppress(OSError), locked(cache_dir / ".digests.lock"):
            write_json(kept, _known(kept) | {key: new[key] for key in settled})
    return [bytes.fromhex(known.get(key) or new[key]) for key in keys]


def _known(kept: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        known = json.loads(kept.read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _key(file: Path, option: str) -> str:
    try:
        status = file.stat()
    except OSError as error:
        raise unreadable(file, error, option) from None
    return f"{file.resolve()} {status.st_size} {status.st_mtime_ns}"


def _digest(file: Path, option: str) -> bytes:
    digest = hashlib.sha256()
    for content in read_content(file, option):
        digest.update(content)
    return digest.digest()
