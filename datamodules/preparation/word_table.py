"""The training text as numbers of whole words, and the characters of each word, for BPE dropout.

``train.source.words.*.npy`` hold the numbers of the words of each sentence, and
``train.source.characters.*.npy`` the characters of each word, as tokens before any merge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from datamodules.preparation.parts import PartNumbers
from datamodules.preparation.store import Array, save_side
from datamodules.ragged import flat
from datamodules.tokenization import Bpe

AT_ONCE = 100_000
"""Words that are cut into characters at once, so that memory stays bounded."""


def save_words(
    folder: Path, side: PartNumbers, words: Iterable[str], tokenizer: Bpe
) -> dict[str, int]:
    """Write the files of a side; return the checksum of each file.

    Args:
        folder: the folder of the prepared corpus.
        side: the side of the parts, which hold their words by numbers of their own.
        words: the different words of all parts, in the order of their numbers.
        tokenizer: the vocabulary of the side.
    """
    numbers = dict(zip(words, count(), strict=False))
    name = f"train.{side.side}"
    return {
        **save_side(folder, f"{name}.words", _Renumbered(side, numbers)),
        **save_side(folder, f"{name}.characters", _characters(list(numbers), tokenizer)),
    }


@dataclass(frozen=True)
class _Renumbered:
    """Words of each part by their numbers in the whole text, and the lengths of the sentences."""

    side: PartNumbers
    numbers: Mapping[str, int]

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        parts, side, checksums = self.side.parts, self.side.side, self.side.checksums
        for part, (own, lengths) in enumerate(PartNumbers(parts, f"{side}.words", checksums)):
            words = parts.read_words(part, side)
            of_all = np.fromiter(map(self.numbers.__getitem__, words), np.int64, len(words))
            yield of_all[own], lengths


def _characters(words: Sequence[str], tokenizer: Bpe) -> list[tuple[Array, Array]]:
    narrow = np.min_scalar_type(len(tokenizer))
    cut = (
        flat(tokenizer.characters(words[first : first + AT_ONCE]))
        for first in range(0, len(words), AT_ONCE)
    )
    return [(tokens.astype(narrow), lengths) for tokens, lengths in cut]
