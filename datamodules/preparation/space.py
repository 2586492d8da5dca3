"""Check before a preparation that the disk has room for it."""

import shutil
from pathlib import Path

from datamodules.corpus import Corpus, text_bytes_of
from datamodules.errors import UserError
from datamodules.tokenization import TokenizerSettings

FEW_TOKENS, MANY_TOKENS = 2.7, 3.6
"""Bytes on the disk during a preparation for each byte of the training text.

Measured on 13 MB of text, English to German: words and BPE 2.0 to 2.2, BPE with dropout 3.0,
characters and bytes 3.3. A smaller corpus has more, since its vocabularies weigh more.
"""
PIECES = ("words", "bpe", "unigram", "sentencepiece")
"""Tokenizers with few tokens a word."""


def check_space(corpus: Corpus, settings: TokenizerSettings, folder: Path) -> None:
    """Raise ``UserError`` if a preparation in ``folder`` needs more room than the disk has free.

    What an interrupted preparation has written counts as room. A corpus of unknown size passes.
    """
    few = settings.kind in PIECES and not settings.dropout
    needed = (FEW_TOKENS if few else MANY_TOKENS) * text_bytes_of(corpus)
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
