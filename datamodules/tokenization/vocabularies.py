"""The vocabularies of both sides of a corpus, and their settings."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.plugs import code_of_class, find_plug
from datamodules.tokenization.tokenizer import SPECIALS, UNK, Tokenizer, normalised
from datamodules.tokenization.word_pieces import Bpe, Words

TOKENIZERS: dict[str, type[Tokenizer]] = {"words": Words, "bpe": Bpe}
"""Tokenizers of the harness, by ``tokenizer.kind``."""
CHECKED_LINES = 20
"""Number of training lines that a trained tokenizer must encode and decode without loss."""


@dataclass(frozen=True)
class TokenizerSettings:
    """Settings of the vocabularies; instantiated from ``conf/tokenizer``."""

    kind: str
    """A name of ``TOKENIZERS``, or the dotted path of a ``Tokenizer`` class."""
    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))]
    """Largest number of tokens in one vocabulary, the four special tokens included."""
    min_frequency: PositiveInt
    """Least number of training occurrences of a word (``words``) or of a merge (``bpe``)."""
    shared: bool
    """Whether both languages share one vocabulary."""

    def __post_init__(self) -> None:
        """Raise ``UserError`` if ``kind`` leads to no tokenizer."""
        tokenizer_class(self.kind)

    @property
    def identity(self) -> list[Any]:
        """Values that change with the vocabularies: the settings, and a user's own code."""
        if self.kind in TOKENIZERS:
            return [asdict(self)]
        return [asdict(self), code_of_class(tokenizer_class(self.kind))]


def tokenizer_class(kind: str) -> type[Tokenizer]:
    """Return the class of ``tokenizer.kind``. Raises ``UserError`` if there is none."""
    return find_plug("tokenizer.kind", kind, TOKENIZERS, Tokenizer)


class Tokenizers(NamedTuple):
    """The two vocabularies of a corpus; one object twice if the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, text: ParallelText, settings: TokenizerSettings) -> Self:
        """Build the vocabularies from the training text.

        Raises ``UserError`` for a tokenizer that does not encode and decode without loss.
        """
        if settings.shared:
            tokenizer = _trained([*text.source, *text.target], settings)
            return cls(tokenizer, tokenizer)
        return cls(_trained(text.source, settings), _trained(text.target, settings))

    def save(self, folder: Path | str) -> None:
        """Write ``source.json`` and ``target.json`` into ``folder``."""
        for side, tokenizer in self._asdict().items():
            tokenizer.save(Path(folder) / f"{side}.json")

    @classmethod
    def load(cls, folder: Path | str, kind: str) -> Self:
        """Read the files of ``save``, which tokenizers of ``kind`` wrote.

        Raises ``OSError``, ``ValueError`` for damaged files, and ``UserError`` without the class.
        """
        load = tokenizer_class(kind).load
        source, target = (load(Path(folder) / f"{side}.json") for side in cls._fields)
        return cls(source, source if source.fingerprint == target.fingerprint else target)


def _trained(lines: Sequence[str], settings: TokenizerSettings) -> Tokenizer:
    kind = tokenizer_class(settings.kind)
    tokenizer = kind.train(lines, settings.vocabulary_size, settings.min_frequency)
    if len(tokenizer) <= len(SPECIALS):
        raise UserError(
            f"tokenizer.min_frequency={settings.min_frequency}: no word of the training text "
            "occurs so often, so that every word would be unknown; give a smaller number"
        )
    mistake = _mistake(tokenizer, kind, lines[:CHECKED_LINES])
    if mistake:
        raise UserError(f"tokenizer.kind={settings.kind}: {kind.__name__}{mistake}")
    return tokenizer


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
            return f".encode cuts the words of {line!r} in another way when each stands alone"
        [again] = tokenizer.decode([ids])
        if UNK not in ids and again != normalised(line):
            return f" decodes {line!r} as {again!r}; change text in the corpus, not here"
    return None
