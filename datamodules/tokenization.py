"""Lines to token numbers and back, without losing a character: whole words or BPE."""

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
"""Stands at the start of each whitespace-separated word, in place of the space."""

# A run of letters and digits with the apostrophe that ends it, or any other single character;
# every punctuation mark is a piece of its own, so no piece can spell a special token's name.
# A word that is a tag of the target language stays whole.
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
    """How to make the vocabularies; instantiated from ``conf/tokenizer``."""

    kind: Kind
    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))]
    """Most tokens in one vocabulary, the four specials included."""
    min_frequency: PositiveInt
    """Fewest occurrences in the training text of a word (``words``) or of a merge (``bpe``)."""
    shared: bool
    """One vocabulary for both languages."""


class Tokenizer:
    """A vocabulary with ``encode`` and ``decode``.

    ``▁L' homme ▁n' aime ▁pas .`` are the word tokens of ``L'homme n'aime pas.``; BPE cuts inside
    the same pieces, so no token crosses a word or a punctuation mark. Characters are kept as they
    are (no Unicode normalisation: hypotheses are scored against the text as given), but for two:
    every run of whitespace becomes one space, and a literal ``▁`` becomes ``_``.

    A word such as ``<2fr>``, which tells a model the language to write (Johnson et al. 2017, arXiv
    1611.04558), is one token of either kind wherever the training text has it.
    """

    def __init__(self, backend: tokenizers.Tokenizer):
        """Wrap a ``tokenizers`` object whose model holds the specials as its first tokens."""
        vocabulary = backend.get_vocab(with_added_tokens=False)
        pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        if tuple(pieces[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"a vocabulary must begin with {' '.join(SPECIALS)}")
        pieces[:UNK] = [""] * UNK
        # BPE leaves the marker in front of an unknown character; a word swallows it.
        if isinstance(backend.model, models.WordLevel):
            pieces[UNK] = MARKER + pieces[UNK]
        self._backend = backend
        self._pieces = pieces

    @classmethod
    def train(
        cls, lines: Sequence[str], kind: Kind, vocabulary_size: int, min_frequency: int
    ) -> Self:
        """Build a vocabulary; the same lines in any order give the same one.

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
            # A piece that is a token needs no merges: a tag has none, all others lead to it.
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
        # Training registers the specials to be found in raw text, where "<s>" is just text: keep
        # the model only.
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
        """What each token adds to a line, without the space before it; empty for the specials."""
        pieces = [piece.removeprefix(MARKER) for piece in self._pieces]
        return [""] * len(SPECIALS) + pieces[len(SPECIALS) :]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each line, without specials other than ``UNK``."""
        encodings = self._backend.encode_batch_fast([_normalise(line) for line in lines])
        return [encoding.ids for encoding in encodings]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the line of each sequence: the exact inverse of ``encode`` where nothing is
        unknown.

        Padding, BOS and EOS are dropped; an unknown token reads ``<unk>`` (as a word of its own
        with ``words``, where nothing says whether one began there).
        """
        return [
            " ".join("".join(self._pieces[i] for i in ids).replace(MARKER, " ").split())
            for ids in sequences
        ]

    def words_of_line(self, line: str) -> list[int]:
        """Return, for each token of ``encode([line])[0]``, its word's index in ``line.split()``."""
        line = _normalise(line)
        encoding = self._backend.encode(line)
        return [line.count(" ", 0, end) for _, end in encoding.offsets]

    def words_of_tokens(self, ids: Sequence[int]) -> list[int]:
        """Return, for each token, its word's index in ``decode([ids])[0].split()``.

        -1 for tokens that belong to no word: PAD, BOS, EOS and a marker that no letter follows.
        """
        marked = "".join(self._pieces[i] for i in ids)
        inside = np.array([character != MARKER for character in marked] + [False])
        starts = inside & ~np.concatenate(([False], inside[:-1]))
        word = np.where(inside, np.cumsum(starts) - 1, -1)
        lengths = np.array([len(self._pieces[i]) for i in ids], dtype=np.int64)
        ends = np.cumsum(lengths)
        # A marker standing alone belongs to the word that it opens.
        last = np.where(inside[ends - 1], ends - 1, ends)
        return np.where(lengths > 0, word[last], -1).tolist()

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change with any token or merge."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()[:12]

    def save(self, path: Path | str) -> None:
        """Write the JSON file of the ``tokenizers`` library, whole or not at all."""
        write_text(path, self._backend.to_str(pretty=True))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a file written by ``save``; ``ValueError`` for any other content."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more precise
            raise ValueError(f"{path}: not a tokenizer file ({error})") from error
        return cls(backend)


def _normalise(line: str) -> str:
    return " ".join(line.split()).replace(MARKER, "_")


def is_tag(word: str) -> bool:
    """Whether a word tells the language to write, as ``<2fr>`` does."""
    return word.startswith(TAG_START) and len(PIECES.pre_tokenize_str(word)) == 1


def _tags(lines: Iterable[str]) -> list[str]:
    tagged = (line for line in lines if TAG_START in line)
    return sorted({word for line in tagged for word in line.split() if is_tag(word)})


def _without(tags: Sequence[str], line: str) -> str:
    """Leave the tags out, so that no merges are spent on them."""
    if TAG_START not in line:
        return line
    return " ".join(word for word in line.split() if word not in tags)


def _backend(model: models.Model) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = PIECES
    return backend


class Tokenizers(NamedTuple):
    """The two vocabularies of a corpus; the same object twice when they share one."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, text: ParallelText, settings: TokenizerSettings) -> Self:
        """Build the vocabularies from the training text."""
        limits = (settings.kind, settings.vocabulary_size, settings.min_frequency)
        if settings.shared:
            both = Tokenizer.train([*text.source, *text.target], *limits)
            return cls(both, both)
        return cls(Tokenizer.train(text.source, *limits), Tokenizer.train(text.target, *limits))

    def save(self, folder: Path | str) -> None:
        """Write ``source.json`` and ``target.json`` into ``folder``."""
        for side, tokenizer in self._asdict().items():
            tokenizer.save(Path(folder) / f"{side}.json")

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read what ``save`` wrote; raises ``OSError`` and, for damaged files, ``ValueError``."""
        source, target = (Tokenizer.load(Path(folder) / f"{side}.json") for side in cls._fields)
        return cls(source, source if source.fingerprint == target.fingerprint else target)
