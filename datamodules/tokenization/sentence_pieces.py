"""Bytes as tokens, and vocabularies that SentencePiece learned (Kudo and Richardson 2018)."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from typing_extensions import override

from datamodules.errors import UserError
from datamodules.files import whole_file
from datamodules.tokenization.tokenizer import MARKER, UNK, Tokenizer, normalised
from datamodules.tokenization.word_pieces import is_tag, tags_of

FIRST_BYTE = 0xF0000
BYTES = [chr(FIRST_BYTE + byte) for byte in range(256)]  # stand for the bytes in a vocabulary
RUN = re.compile(f"[{BYTES[0]}-{BYTES[-1]}]+")
NO_PART_OF_A_WORD = re.compile(rf"[\s{MARKER}]")
REPLACEMENT = "\ufffd"
CROSSING = re.compile(f"[^{MARKER}]{MARKER}")


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
        return cls([MARKER, *BYTES, *(MARKER + tag for tag in tags_of(lines))])

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


class SentencePieces(ByteTokens):
    """A SentencePiece model, of unigrams or BPE.

    Its special tokens get the numbers 0 to 3, and its other pieces the numbers from 4, in the order
    of the file. Each word is cut for itself. The model may normalise text, by default to NFKC: what
    comes back is the normalised text, ``kept``. Scores compare it with the text as it was given.
    """

    ending = ".model"

    def __init__(self, model: bytes) -> None:
        """Read the content of a model file. Raises ``ValueError`` for other content."""
        from sentencepiece import SentencePieceProcessor

        self._model = model
        self._processor = processor = SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        own = range(len(processor))
        texts = [
            number
            for number in own
            if not (processor.is_control(number) or processor.is_unknown(number))
        ]
        super().__init__(
            [
                BYTES[int(piece[1:-1], 16)] if processor.is_byte(number) else piece
                for number in texts
                for piece in [processor.id_to_piece(number)]
            ]
        )
        self._numbers = [UNK] * len(own)
        for ours, number in enumerate(texts, start=UNK + 1):
            self._numbers[number] = ours
        self._check()

    @override
    @classmethod
    def train(cls, lines: Sequence[str], vocabulary_size: int, min_frequency: int) -> Self:
        raise UserError(
            "tokenizer.kind=sentencepiece learns nothing: give tokenizer=sentencepiece "
            "tokenizer.models.source=FILE"
        )

    @override
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [
            [self._numbers[number] for word in words for number in word]
            for words in (self._processor.encode(normalised(line).split()) for line in lines)
        ]

    @override
    def kept(self, line: str) -> str:
        words = (self._processor.normalize(word) for word in normalised(line).split())
        return " ".join("".join(words).replace(MARKER, " ").split())

    @override
    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self._model).hexdigest()[:12]

    @override
    def save(self, path: Path | str) -> None:
        with whole_file(path) as temporary:
            temporary.write_bytes(self._model)

    @override
    @classmethod
    def load(cls, path: Path | str) -> Self:
        try:
            return cls(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def _check(self) -> None:
        """Raise ``ValueError`` for a model whose tokens are not those of its words."""
        crossing = next(filter(CROSSING.search, self.numbers), None)
        if crossing:
            raise ValueError(
                f"the piece {crossing!r} crosses white space; train the model with "
                "--split_by_whitespace=true and --treat_whitespace_as_suffix=false"
            )
        if not self._processor.normalize("a").startswith(MARKER):
            raise ValueError("no marker at the first word; train with --add_dummy_prefix=true")
