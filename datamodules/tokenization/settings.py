"""The settings of the vocabularies of a corpus."""

import hashlib
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field, FilePath, PositiveInt
from pydantic.dataclasses import dataclass

from datamodules.errors import UserError
from datamodules.plugs import code_of_class, find_plug
from datamodules.tokenization.byte_tokens import Bytes
from datamodules.tokenization.characters import Characters
from datamodules.tokenization.sentence_pieces import SentencePieces
from datamodules.tokenization.tokenizer import SPECIALS, Tokenizer
from datamodules.tokenization.unigram import Unigram
from datamodules.tokenization.word_pieces import Bpe, Words

TOKENIZERS: dict[str, type[Tokenizer]] = {
    "words": Words,
    "bpe": Bpe,
    "unigram": Unigram,
    "characters": Characters,
    "bytes": Bytes,
    "sentencepiece": SentencePieces,
}
"""Tokenizers of the harness, by ``tokenizer.kind``."""
SAMPLE_PAIRS = 1_000_000
"""Default of ``tokenizer.sample_pairs``."""


@dataclass(frozen=True)
class Models:
    """Files of SentencePiece; the same file twice for a shared vocabulary."""

    source: FilePath
    target: FilePath


@dataclass(frozen=True)
class TokenizerSettings:
    """Settings of the vocabularies; instantiated from ``conf/tokenizer``.

    A file of the group lists the settings that its kind of tokenizer reads.
    """

    kind: str
    """A name of ``TOKENIZERS``, or the dotted path of a ``Tokenizer`` class."""
    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))] = 30_000
    """Largest number of tokens in one vocabulary, the four special tokens included."""
    min_frequency: PositiveInt = 2
    """Least number of training occurrences of a word (``words``), of a merge (``bpe``) or of a
    character (``unigram``, ``characters``)."""
    shared: bool = False
    """Whether both languages share one vocabulary."""
    sample_pairs: PositiveInt = SAMPLE_PAIRS
    """Most training pairs from which the vocabularies are learned, evenly spaced."""
    models: Models | None = None
    """Files of ``sentencepiece``."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the merges of ``bpe`` that training leaves out, drawn anew in every epoch."""

    def __post_init__(self) -> None:
        """Raise ``UserError`` if ``kind`` leads to no tokenizer, or has no such setting."""
        tokenizer_class(self.kind)
        if self.models and self.kind != "sentencepiece":
            raise UserError(
                f"tokenizer.models: tokenizer.kind={self.kind} reads no files of SentencePiece; "
                "choose tokenizer=sentencepiece"
            )
        if self.dropout and self.kind != "bpe":
            raise UserError(
                f"tokenizer.dropout={self.dropout}: tokenizer.kind={self.kind} has no merges to "
                "leave out; choose tokenizer=bpe"
            )

    @property
    def identity(self) -> list[Any]:
        """Values that change with the vocabularies: settings, content of files, a user's code."""
        # Settings that earlier preparations did not have count where they change something.
        new = {"sample_pairs": SAMPLE_PAIRS, "models": None, "dropout": 0.0}
        settings = {key: value for key, value in asdict(self).items() if new.get(key, ...) != value}
        if self.models:
            files = asdict(self.models).values()
            settings["models"] = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        if self.dropout:  # more files are prepared, the same for any share
            settings["dropout"] = True
        if self.kind in TOKENIZERS:
            return [settings]
        return [settings, code_of_class(tokenizer_class(self.kind))]


def tokenizer_class(kind: str) -> type[Tokenizer]:
    """Return the class of ``tokenizer.kind``. Raises ``UserError`` if there is none."""
    return find_plug("tokenizer.kind", kind, TOKENIZERS, Tokenizer)
