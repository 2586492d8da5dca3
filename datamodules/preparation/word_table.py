"""The training text as numbers of whole words, and the characters of each word, for BPE dropout.

``train.source.words.*.npy`` hold the numbers of the words of each sentence, and
``train.source.characters.*.npy`` the characters of each word, as tokens before any merge.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from datamodules.preparation.parts import Parts
from datamodules.preparation.store import Array, load_side, save_side
from datamodules.ragged import flat
from datamodules.tokenization import Bpe

AT_ONCE = 100_000
"""Words that are cut into characters at once, so that memory stays bounded."""


def save_words(
    folder: Path,
    side: str,
    parts: Parts,
    arrays: Sequence[dict[str, int]],
    words: Iterable[str],
    tokenizer: Bpe,
) -> dict[str, int]:
    """Write the files of a side; return the checksum of each file.

    Args:
        folder: the folder of the prepared corpus.
        side: ``source`` or ``target``.
        parts: the parts, which hold their words by numbers of their own.
        arrays: the checksums of each part's files.
        words: the different words of all parts, in the order of their numbers.
        tokenizer: the vocabulary of the side.
    """
    numbers = dict(zip(words, count(), strict=False))
    sentences = [_renumbered(parts, part, side, each, numbers) for part, each in enumerate(arrays)]
    return {
        **save_side(folder, f"train.{side}.words", sentences),
        **save_side(folder, f"train.{side}.characters", _characters(list(numbers), tokenizer)),
    }


def _renumbered(
    parts: Parts, part: int, side: str, checksums: dict[str, int], numbers: dict[str, int]
) -> tuple[Array, Array]:
    """Return the word numbers and lengths of a part's sentences, mapped from the disk."""
    own, lengths = parts.read_numbers(part, f"{side}.words", checksums)
    words = parts.read_words(part, side)
    of_all = np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))
    name = f"{part:05}.{side}.renumbered"
    found = load_side(parts.folder, name, save_side(parts.folder, name, [(of_all[own], lengths)]))
    return found.tokens, found.lengths


def _characters(words: Sequence[str], tokenizer: Bpe) -> list[tuple[Array, Array]]:
    narrow = np.min_scalar_type(len(tokenizer))
    cut = (
        flat(tokenizer.characters(words[first : first + AT_ONCE]))
        for first in range(0, len(words), AT_ONCE)
    )
    return [(tokens.astype(narrow), lengths) for tokens, lengths in cut]
