"""Check before a preparation that the disk has room for it."""

import shutil
from pathlib import Path

from datamodules.corpus import Corpus, text_bytes_of
from datamodules.errors import UserError

BYTES_FOR_A_BYTE = 2.2
"""Most bytes on the disk during a preparation for each byte of the training text, as measured."""


def check_space(corpus: Corpus, folder: Path) -> None:
    """Raise ``UserError`` if a preparation in ``folder`` needs more room than the disk has free.

    What an interrupted preparation has written counts as room. A corpus of unknown size passes.
    """
    needed = BYTES_FOR_A_BYTE * text_bytes_of(corpus)
    if not needed:
        return
    folder.mkdir(parents=True, exist_ok=True)
    written = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free + written
    if needed > free:
        raise UserError(
            f"{folder}: the preparation needs about {_size(needed)}, but the disk has "
            f"{_size(free)} free: choose another folder with cache_dir=... or fewer training pairs "
            "with data.limit=..."
        )


def _size(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"
