"""Encode lines as token numbers and decode them without loss: whole words or BPE."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
import tokenizers
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass
from tokenizers import Regex, models, pre_tokenizers, trainers

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.files import write_text

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNK = range(len(SPECIALS))

MARKER = "▁"
"""Marker at the start of each whitespace-separated word, in place of the space."""

# A run of letters and digits with an apostrophe at its end, or any other single character. Every
# punctuation mark is a separate piece, so no piece can spell the name of a special token. A word
# that is a tag of the target language stays whole.
PIECE = Regex(
    rf"\A{MARKER}<2\p{{L}}+>\z"
    rf"|{MARKER}?(?:[\p{{L}}\p{{M}}\p{{N}}]+['’]?|[^\p{{L}}\p{{M}}\p{{N}}{MARKER}])"
)
PIECES = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Metaspace(MARKER, prepend_scheme="always"),
        pre_tokenizers.Split(PIECE, "isolated"),
    ]
)
TAG_START = "<2"

Kind = Literal["words", "bpe"]


@dataclass(frozen=True)
class TokenizerSettings:
    """Settings of the vocabularies; instantiated from ``conf/tokenizer``."""

    kind: Kind
    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))]
    """Largest number of tokens in one vocabulary, the four special tokens included."""
    min_frequency: PositiveInt
    """Least number of training occurrences of a word (``words``) or of a merge (``bpe``)."""
    shared: bool
    """Whether both languages share one vocabulary."""


class Tokenizer:
    """A vocabulary with ``encode`` and ``decode``.

    ``▁L' homme ▁n' aime ▁pas .`` are the word tokens of ``L'homme n'aime pas.``; BPE cuts inside
    the same pieces, so no token crosses a word or a punctuation mark. Characters are kept without
    Unicode normalisation, because hypotheses are scored against the given text. There are two
    exceptions: every run of whitespace becomes one space, and a literal ``▁`` becomes ``_``.

    A tag such as ``<2fr>`` names the target language for a model (Johnson et al. 2017, arXiv
    1611.04558). Every tag in the training text is one token, with ``words`` and with ``bpe``.
    """

    def __init__(self, backend: tokenizers.Tokenizer):
        """Wrap a ``tokenizers`` object; the first tokens of its model must be ``SPECIALS``."""
        vocabulary = backend.get_vocab(with_added_tokens=False)
        pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        if tuple(pieces[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"a vocabulary must begin with {' '.join(SPECIALS)}")
        pieces[:UNK] = [""] * UNK
        # BPE keeps the marker before an unknown character; an unknown word includes the marker.
        if isinstance(backend.model, models.WordLevel):
            pieces[UNK] = MARKER + pieces[UNK]
        self._backend = backend
        self._pieces = pieces

    @classmethod
    def train(
        cls, lines: Sequence[str], kind: Kind, vocabulary_size: int, min_frequency: int
    ) -> Self:
        """Build a vocabulary, which does not depend on the order of the lines.

        Raises ``UserError`` if ``vocabulary_size`` cannot hold every character for BPE.
        """
        unknown = SPECIALS[UNK]
        tags = _tags(lines)
        specials = [*SPECIALS, *(MARKER + tag for tag in tags)]
        model: models.Model
        trainer: trainers.Trainer
        if kind == "words":
            model = models.WordLevel(unk_token=unknown)
            trainer = trainers.WordLevelTrainer(
                vocab_size=vocabulary_size,
                min_frequency=min_frequency,
                special_tokens=specials,
                show_progress=False,
            )
        else:
            # With ignore_merges, a piece that is a token is looked up without merging. Tags have no
            # merges; for every other piece the merges lead to the same token.
            model = models.BPE(unk_token=unknown, fuse_unk=True, ignore_merges=True)
            trainer = trainers.BpeTrainer(
                vocab_size=vocabulary_size,
                min_frequency=min_frequency,
                special_tokens=specials,
                initial_alphabet=[MARKER],
                show_progress=False,
            )
        trained = _backend(model)
        trained.train_from_iterator((_normalise(_without(tags, line)) for line in lines), trainer)
        # Training registers the special tokens for matching in raw text, where "<s>" is plain text.
        # So only the model is kept.
        tokenizer = cls(_backend(trained.model))
        if len(tokenizer) > vocabulary_size:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small for BPE: the characters "
                f"of the text alone need {len(tokenizer)}; set tokenizer.vocabulary_size higher"
            )
        return tokenizer

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def surfaces(self) -> list[str]:
        """Text of each token in a line, without the space before; empty for special tokens."""
        pieces = [piece.removeprefix(MARKER) for piece in self._pieces]
        return [""] * len(SPECIALS) + pieces[len(SPECIALS) :]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each line, without special tokens other than ``UNK``."""
        encodings = self._backend.encode_batch_fast([_normalise(line) for line in lines])
        return [encoding.ids for encoding in encodings]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the line of each sequence: the exact inverse of ``encode`` without unknown tokens.

        PAD, BOS and EOS are dropped. An unknown token reads ``<unk>``; with ``words``, always as a
        separate word, because the marker of an unknown word is lost.
        """
        return [
            " ".join("".join(self._pieces[i] for i in ids).replace(MARKER, " ").split())
            for ids in sequences
        ]

    def words_of_line(self, line: str) -> list[int]:
        """Return the word index in ``line.split()`` of each token of ``encode([line])[0]``."""
        line = _normalise(line)
        encoding = self._backend.encode(line)
        return [line.count(" ", 0, end) for _, end in encoding.offsets]

    def words_of_tokens(self, ids: Sequence[int]) -> list[int]:
        """Return the word index in ``decode([ids])[0].split()`` of each token.

        The index is -1 for tokens outside words: PAD, BOS, EOS and a marker without a letter after.
        """
        marked = "".join(self._pieces[i] for i in ids)
        inside = np.array([character != MARKER for character in marked] + [False])
        starts = inside & ~np.concatenate(([False], inside[:-1]))
        word = np.where(inside, np.cumsum(starts) - 1, -1)
        lengths = np.array([len(self._pieces[i]) for i in ids], dtype=np.int64)
        ends = np.cumsum(lengths)
        # A token that is only a marker belongs to the word after the marker.
        last = np.where(inside[ends - 1], ends - 1, ends)
        return np.where(lengths > 0, word[last], -1).tolist()

    @property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits that change with any token or merge."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()[:12]

    def save(self, path: Path | str) -> None:
        """Write the JSON file of the ``tokenizers`` library, atomically."""
        write_text(path, self._backend.to_str(pretty=True))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a file written by ``save``. Raises ``ValueError`` for any other content."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more precise
            raise ValueError(f"{path}: not a tokenizer file ({error})") from error
        return cls(backend)


def _normalise(line: str) -> str:
    return " ".join(line.split()).replace(MARKER, "_")


def is_tag(word: str) -> bool:
    """Return whether a word is a tag of the target language, such as ``<2fr>``."""
    return word.startswith(TAG_START) and len(PIECES.pre_tokenize_str(word)) == 1


def _tags(lines: Iterable[str]) -> list[str]:
    tagged = (line for line in lines if TAG_START in line)
    return sorted({word for line in tagged for word in line.split() if is_tag(word)})


def _without(tags: Sequence[str], line: str) -> str:
    """Remove the tags from ``line``, so that BPE learns no merges for tags."""
    if TAG_START not in line:
        return line
    return " ".join(word for word in line.split() if word not in tags)


def _backend(model: models.Model) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = PIECES
    return backend


class Tokenizers(NamedTuple):
    """The two vocabularies of a corpus; one object twice if the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, text: ParallelText, settings: TokenizerSettings) -> Self:
        """Build the vocabularies from the training text."""
        limits = (settings.kind, settings.vocabulary_size, settings.min_frequency)
        if settings.shared:
            tokenizer = Tokenizer.train([*text.source, *text.target], *limits)
            return cls(tokenizer, tokenizer)
        return cls(Tokenizer.train(text.source, *limits), Tokenizer.train(text.target, *limits))

    def save(self, folder: Path | str) -> None:
        """Write ``source.json`` and ``target.json`` into ``folder``."""
        for side, tokenizer in self._asdict().items():
            tokenizer.save(Path(folder) / f"{side}.json")

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read the files of ``save``. Raises ``OSError``, and ``ValueError`` for damaged files."""
        source, target = (Tokenizer.load(Path(folder) / f"{side}.json") for side in cls._fields)
        return cls(source, source if source.fingerprint == target.fingerprint else target)
