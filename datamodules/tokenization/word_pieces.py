"""Words and BPE, by the ``tokenizers`` library."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import tokenizers
from tokenizers import Regex, models, pre_tokenizers, trainers
from typing_extensions import override

from datamodules.errors import UserError
from datamodules.files import write_text
from datamodules.tokenization.tokenizer import MARKER, SPECIALS, UNK, Tokenizer, normalised

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


class WordPieces(Tokenizer):
    """A vocabulary of pieces of words.

    ``▁L' homme ▁n' aime ▁pas .`` are the pieces of ``L'homme n'aime pas.``. Characters are kept
    without Unicode normalisation, because hypotheses are scored against the given text.

    A tag such as ``<2fr>`` names the target language for a model (Johnson et al. 2017, arXiv
    1611.04558). Every tag in the training text is one token.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        """Wrap a ``tokenizers`` object; the first tokens of its model must be ``SPECIALS``."""
        vocabulary = backend.get_vocab(with_added_tokens=False)
        tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"a vocabulary must begin with {' '.join(SPECIALS)}")
        super().__init__(tokens[len(SPECIALS) :])
        self._backend = backend

    @override
    @classmethod
    def train(cls, lines: Sequence[str], vocabulary_size: int, min_frequency: int) -> Self:
        tags = _tags(lines)
        specials = [*SPECIALS, *(MARKER + tag for tag in tags)]
        model, trainer = cls._model(vocabulary_size, min_frequency, specials)
        trained = _backend(model)
        trained.train_from_iterator((normalised(_without(tags, line)) for line in lines), trainer)
        # Training registers the special tokens for matching in raw text, where "<s>" is plain text.
        # So only the model is kept.
        return cls(_backend(trained.model))

    @staticmethod
    @abstractmethod
    def _model(
        vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> tuple[models.Model, trainers.Trainer]:
        """Return a model of the library and its trainer."""

    @override
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        encodings = self._backend.encode_batch_fast([normalised(line) for line in lines])
        return [encoding.ids for encoding in encodings]

    @override
    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()[:12]

    @override
    def save(self, path: Path | str) -> None:
        write_text(path, self._backend.to_str(pretty=True))

    @override
    @classmethod
    def load(cls, path: Path | str) -> Self:
        text = Path(path).read_text(encoding="utf-8")
        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more precise
            raise ValueError(f"{path}: not a tokenizer file ({error})") from error
        return cls(backend)


class Words(WordPieces):
    """Whole pieces: words cut at punctuation marks.

    An unknown piece is decoded as a word of its own, because its marker is lost.
    """

    @override
    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        super().__init__(backend)
        self._pieces[UNK] = MARKER + SPECIALS[UNK]

    @override
    @staticmethod
    def _model(
        vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> tuple[models.Model, trainers.Trainer]:
        trainer = trainers.WordLevelTrainer(
            vocab_size=vocabulary_size,
            min_frequency=min_frequency,
            special_tokens=specials,
            show_progress=False,
        )
        return models.WordLevel(unk_token=SPECIALS[UNK]), trainer


class Bpe(WordPieces):
    """Byte pair encoding (Sennrich et al. 2016), which cuts inside the pieces of ``Words``.

    An unknown character keeps its marker.
    """

    @override
    @classmethod
    def train(cls, lines: Sequence[str], vocabulary_size: int, min_frequency: int) -> Self:
        tokenizer = super().train(lines, vocabulary_size, min_frequency)
        if len(tokenizer) > vocabulary_size:
            raise UserError(
                f"tokenizer.vocabulary_size={vocabulary_size} is too small for BPE: the characters "
                f"of the text alone need {len(tokenizer)}; set tokenizer.vocabulary_size higher"
            )
        return tokenizer

    @override
    @staticmethod
    def _model(
        vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> tuple[models.Model, trainers.Trainer]:
        # With ignore_merges, a piece that is a token is looked up without merging. Tags have no
        # merges; for every other piece the merges lead to the same token.
        model = models.BPE(unk_token=SPECIALS[UNK], fuse_unk=True, ignore_merges=True)
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary_size,
            min_frequency=min_frequency,
            special_tokens=specials,
            initial_alphabet=[MARKER],
            show_progress=False,
        )
        return model, trainer


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
