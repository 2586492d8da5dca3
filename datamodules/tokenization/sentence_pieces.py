"""Vocabularies that SentencePiece learned elsewhere (Kudo and Richardson 2018)."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from typing_extensions import override

from datamodules.errors import UserError
from datamodules.files import whole_file
from datamodules.tokenization.byte_tokens import BYTES, ByteTokens
from datamodules.tokenization.tokenizer import MARKER, UNK, normalised

CROSSING = re.compile(f"[^{MARKER}]{MARKER}")


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
