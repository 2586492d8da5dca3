"""The interface of a tokenizer: encode lines as token numbers and decode them without loss."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from datamodules.files import write_json

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNK = range(len(SPECIALS))

MARKER = "▁"  # marker at the start of each whitespace-separated word, in place of the space


class Tokenizer(ABC):
    """A vocabulary with ``encode`` and ``decode``.

    The tokens of a line are the tokens of its words, one word after the other: no token crosses a
    word. Every run of whitespace reads as one space, and a literal ``▁`` as ``_``.
    """

    ending: ClassVar[str] = ".json"  # ending of the files of ``save``

    def __init__(self, pieces: Sequence[str]) -> None:
        """Number the pieces of words, from 4; the numbers 0 to 3 are those of ``SPECIALS``.

        The first piece of a word begins with ``MARKER`` or is ``MARKER``.
        """
        self.numbers = {piece: number for number, piece in enumerate(pieces, start=len(SPECIALS))}
        """Number of each piece."""
        self._pieces = ["", "", "", SPECIALS[UNK], *pieces]

    @classmethod
    @abstractmethod
    def train(cls, lines: Sequence[str], vocabulary_size: int, min_frequency: int) -> Self:
        """Build a vocabulary of one side of the training text, or of both if it is shared.

        It has at most ``vocabulary_size`` tokens, the four special tokens included, each found
        ``min_frequency`` times at least, and must not depend on the order of the lines.
        """

    @abstractmethod
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each line, without special tokens other than ``UNK``."""

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def surfaces(self) -> list[str]:
        """Text of each token in a line, without the space before; empty for special tokens."""
        pieces = [piece.removeprefix(MARKER) for piece in self._pieces]
        return [""] * len(SPECIALS) + pieces[len(SPECIALS) :]

    def kept(self, line: str) -> str:
        """Return what ``decode`` makes of the tokens of ``line``, if none of them is unknown."""
        return normalised(line)

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the line of each sequence: ``kept`` of the encoded line without unknown tokens.

        PAD, BOS and EOS are dropped. An unknown token reads ``<unk>``.
        """
        return [_line(self._pieces[i] for i in ids) for ids in sequences]

    def decode_with(self, ids: Sequence[int], unknown: Iterable[str]) -> str:
        """Return the line of ``ids``, with a text of ``unknown`` for each unknown token in turn."""
        texts = iter(unknown)
        return _line(
            self._pieces[i].replace(SPECIALS[UNK], next(texts)) if i == UNK else self._pieces[i]
            for i in ids
        )

    def pieces_of_line(self, line: str) -> list[str]:
        """Return the text of each token of ``encode([line])[0]``, also of unknown tokens.

        A token that is only a marker has an empty text. Here, the text of an unknown token is its
        whole word; a class that knows better overrides this method.
        """
        [ids], words = self.encode([line]), normalised(line).split()
        return [
            words[word] if token == UNK else self._pieces[token].removeprefix(MARKER)
            for token, word in zip(ids, self.words_of_line(line), strict=True)
        ]

    def words_of_line(self, line: str) -> list[int]:
        """Return the word index in ``line.split()`` of each token of ``encode([line])[0]``."""
        return [word for word, ids in enumerate(self.encode(line.split())) for _ in ids]

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
        """Return twelve hexadecimal digits that change with any token."""
        return hashlib.sha256(json.dumps(self._pieces).encode()).hexdigest()[:12]

    def save(self, path: Path | str) -> None:
        """Write the vocabulary as JSON, atomically."""
        write_json(path, self._pieces[len(SPECIALS) :])

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a file written by ``save``. Raises ``ValueError`` for any other content."""
        try:
            pieces = json.loads(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: not a vocabulary ({error})") from error
        if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
            raise ValueError(f"{path}: not a vocabulary")
        return cls(pieces)


def _line(pieces: Iterable[str]) -> str:
    return " ".join("".join(pieces).replace(MARKER, " ").split())


def normalised(line: str) -> str:
    """Return the text of a line that a tokenizer keeps."""
    return " ".join(line.split()).replace(MARKER, "_")
