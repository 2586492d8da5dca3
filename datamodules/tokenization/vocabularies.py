"""The vocabularies of both sides of a corpus."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import FilePath
from pydantic.dataclasses import dataclass

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.plugs import code_of_class, find_plug
from datamodules.tokenization.sentence_pieces import Bytes, SentencePieces
from datamodules.tokenization.tokenizer import SPECIALS, UNK, Tokenizer
from datamodules.tokenization.word_pieces import Bpe, Characters, Unigram, Words

TOKENIZERS: dict[str, type[Tokenizer]] = {
    "words": Words,
    "bpe": Bpe,
    "unigram": Unigram,
    "characters": Characters,
    "bytes": Bytes,
    "sentencepiece": SentencePieces,
}
"""Tokenizers of the harness, by ``tokenizer.kind``."""
FAR_SMALLER = 0.5  # share of the wanted tokens, below which a vocabulary is reported
CHECKED_LINES = 20  # training lines that a tokenizer must encode and decode without loss


@dataclass(frozen=True)
class Models:
    """Files of SentencePiece; the same file twice for a shared vocabulary."""

    source: FilePath
    target: FilePath


@dataclass(frozen=True)
class TokenizerSettings:
    """Settings of the vocabularies; instantiated from ``conf/tokenizer``.

    A file of the group lists the settings that its kind of tokenizer reads; the others are absent.
    """

    kind: str  # a name of ``TOKENIZERS``, or the dotted path of a ``Tokenizer`` class
    vocabulary_size: int | None = None  # most tokens of one vocabulary, special tokens included
    min_frequency: int | None = None  # fewest occurrences of a word, merge or character
    shared: bool = False  # whether both languages share one vocabulary
    sample_pairs: int | None = None  # at most, evenly spaced, to learn from; None: all pairs
    models: Models | None = None  # files of ``sentencepiece``
    dropout: float = 0.0  # share of the merges of ``bpe`` that training leaves out

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
    def identity(self) -> dict[str, Any]:
        """Values that change with the vocabularies: settings, content of files, a user's code."""
        # The files of a preparation are the same for any share of dropout.
        settings = asdict(self) | {"dropout": self.dropout > 0}
        if self.models:
            files = asdict(self.models).values()
            settings["models"] = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        if self.kind not in TOKENIZERS:
            settings["code"] = code_of_class(tokenizer_class(self.kind))
        return settings


def tokenizer_class(kind: str) -> type[Tokenizer]:
    """Return the class of ``tokenizer.kind``. Raises ``UserError`` if there is none."""
    return find_plug("tokenizer.kind", kind, TOKENIZERS, Tokenizer)


class Tokenizers(NamedTuple):
    """The two vocabularies of a corpus; one object twice if the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, text: ParallelText, settings: TokenizerSettings) -> Self:
        """Build the vocabularies from the training text, or read the files of ``models``.

        Raises ``UserError`` for a tokenizer that does not encode and decode without loss.
        """
        if settings.models:
            source, target = _read(settings.models, settings.shared)
            _check(source, text.source, settings)
            _check(target, text.target, settings)
            return cls(source, target)
        if settings.shared:
            tokenizer = _trained([*text.source, *text.target], settings)
            return cls(tokenizer, tokenizer)
        return cls(_trained(text.source, settings), _trained(text.target, settings))

    def far_smaller(self, settings: TokenizerSettings) -> Iterator[str]:
        """Yield a line for each vocabulary of subwords that is far smaller than ``settings`` ask.

        A vocabulary of words or characters has as many as the text, and the size is a limit.
        """
        wanted = settings.vocabulary_size or 0
        if settings.kind not in ("bpe", "unigram"):
            return
        for side, tokenizer in self._asdict().items():
            if len(tokenizer) < FAR_SMALLER * wanted:
                yield (
                    f"the {side} vocabulary has {len(tokenizer):,} tokens, as the training text "
                    f"has no more; tokenizer.vocabulary_size={wanted} asks for {wanted:,}"
                )

    def save(self, folder: Path | str) -> None:
        """Write the files ``source`` and ``target``, with the ending of their kind."""
        for side, tokenizer in self._asdict().items():
            tokenizer.save(Path(folder) / f"{side}{tokenizer.ending}")

    @classmethod
    def load(cls, folder: Path | str, kind: str) -> Self:
        """Read the files of ``save``, which tokenizers of ``kind`` wrote.

        Raises ``OSError``, ``ValueError`` for damaged files, and ``UserError`` without the class.
        """
        made = tokenizer_class(kind)
        source, target = (made.load(Path(folder) / f"{side}{made.ending}") for side in cls._fields)
        return cls(source, source if source.fingerprint == target.fingerprint else target)


def _trained(lines: Sequence[str], settings: TokenizerSettings) -> Tokenizer:
    kind = tokenizer_class(settings.kind)
    tokenizer = kind.train(lines, settings.vocabulary_size or 0, settings.min_frequency or 1)
    if len(tokenizer) <= len(SPECIALS):
        raise UserError(
            f"tokenizer.min_frequency={settings.min_frequency}: no word of the training text "
            "occurs so often, so that every word would be unknown; give a smaller number"
        )
    _check(tokenizer, lines, settings)
    return tokenizer


def _read(models: Models, shared: bool) -> list[Tokenizer]:
    read: list[Tokenizer] = []
    for side, file in (("source", models.source), ("target", models.target)):
        try:
            read.append(SentencePieces.load(file))
        except ValueError as error:
            raise UserError(f"tokenizer.models.{side}={error}") from None
    if shared and read[0].fingerprint != read[1].fingerprint:
        raise UserError(
            "tokenizer.shared=true: tokenizer.models has two different files; give one file, or "
            "tokenizer.shared=false"
        )
    return read


def _check(tokenizer: Tokenizer, lines: Sequence[str], settings: TokenizerSettings) -> None:
    kind = tokenizer_class(settings.kind)
    mistake = _mistake(tokenizer, kind, lines[:CHECKED_LINES])
    if mistake:
        raise UserError(f"tokenizer.kind={settings.kind}: {kind.__name__}{mistake}")


def _mistake(tokenizer: Tokenizer, kind: type[Tokenizer], lines: Sequence[str]) -> str | None:
    """Return what is wrong with a tokenizer; None if the lines come back as they were."""
    if not isinstance(tokenizer, kind):
        return f".train returns {type(tokenizer).__name__}, but an object of the class is needed"
    numbers = range(UNK, len(tokenizer))
    encoded = tokenizer.encode(lines)
    if len(encoded) != len(lines):
        return f".encode returns {len(encoded)} lists for {len(lines)} lines"
    for line, ids in zip(lines, encoded, strict=True):
        wrong = [number for number in ids if number not in numbers]
        if wrong:
            return f".encode gives the token {wrong[0]!r}; tokens are {UNK} to {numbers[-1]}"
        if len(tokenizer.words_of_line(line)) != len(ids):
            return f".encode cuts the words of {line!r} differently when each is alone"
        [again] = tokenizer.decode([ids])
        if UNK not in ids and again != tokenizer.kept(line):
            return f" decodes {line!r} as {again!r}; change text in the corpus, not here"
    return None
