"""Bytes of UTF-8 as tokens, and the text of byte tokens."""

import re
from collections.abc import Sequence
from typing import Self

from typing_extensions import override

from datamodules.errors import UserError
from datamodules.tokenization.tokenizer import MARKER, SPECIALS, Tokenizer, normalised
from datamodules.tokenization.word_pieces import is_tag, tags_of

FIRST_BYTE = 0xF0000
BYTES = [chr(FIRST_BYTE + byte) for byte in range(256)]
"""Characters of private use that stand for the bytes inside a vocabulary."""
RUN = re.compile(f"[{BYTES[0]}-{BYTES[-1]}]+")
NO_PART_OF_A_WORD = re.compile(rf"[\s{MARKER}]")
REPLACEMENT = "\ufffd"


class ByteTokens(Tokenizer):
    """A vocabulary with ``BYTES`` among its pieces."""

    @override
    @property
    def surfaces(self) -> list[str]:
        return list(map(_text, super().surfaces))

    @override
    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return list(map(_text, super().decode(sequences)))

    @override
    def pieces_of_line(self, line: str) -> list[str]:
        return list(map(_text, super().pieces_of_line(line)))


class Bytes(ByteTokens):
    """The 256 bytes of UTF-8, and the marker before a word: no text is unknown.

    Nothing is learned but the tags of the target language; see ``WordPieces``.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        """Raise ``ValueError`` for other pieces than the marker, the bytes and tags."""
        if list(pieces[: 1 + len(BYTES)]) != [MARKER, *BYTES]:
            raise ValueError("a vocabulary of bytes must have the marker and all bytes")
        super().__init__(pieces)

    @override
    @classmethod
    def train(cls, lines: Sequence[str], vocabulary_size: int, min_frequency: int) -> Self:
        tags = [MARKER + tag for tag in tags_of(lines)]
        needed = len(SPECIALS) + 1 + len(BYTES) + len(tags)
        if needed > vocabulary_size:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small for bytes: set "
                f"tokenizer.vocabulary_size={needed}"
            )
        return cls([MARKER, *BYTES, *tags])

    @override
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [
            [number for word in normalised(line).split() for number in self._cut(word)]
            for line in lines
        ]

    def _cut(self, word: str) -> list[int]:
        if is_tag(word) and MARKER + word in self.numbers:
            return [self.numbers[MARKER + word]]
        first = self.numbers[BYTES[0]]
        return [self.numbers[MARKER], *(first + byte for byte in word.encode())]


def _text(line: str) -> str:
    """Return ``line`` with each run of ``BYTES`` decoded as UTF-8.

    Bytes that are not UTF-8, white space and ``MARKER``, which only a model can write, become
    U+FFFD: a run of bytes is always a part of one word.
    """

    def decoded(run: re.Match[str]) -> str:
        content = bytes(ord(one) - FIRST_BYTE for one in run[0])
        return NO_PART_OF_A_WORD.sub(REPLACEMENT, content.decode("utf-8", "replace"))

    return RUN.sub(decoded, line)
