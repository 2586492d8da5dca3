"""Words and BPE, by the ``tokenizers`` library, and what all pieces of words have in common."""

import hashlib
import io
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import tokenizers
from tokenizers import Regex, models, pre_tokenizers, trainers
from typing_extensions import override

from datamodules.errors import UserError
from datamodules.files import write_text
from datamodules.tokenization.tokenizer import MARKER, SPECIALS, UNK, Tokenizer, normalised
from datamodules.words import word_frequencies

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
RESERVED = "\u2585"  # character that SentencePiece reads in no training text
DECIMALS = 6  # of a score: ``tokenizers`` reads longer numbers as slightly others


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
        words = word_frequencies(lines)
        tags = tags_of(words)
        specials = [*SPECIALS, *(MARKER + tag for tag in tags)]
        for tag in tags:  # so that BPE learns no merges for tags
            del words[tag]
        return cls(_backend(cls._learn(_pieces(words), vocabulary_size, min_frequency, specials)))

    @staticmethod
    @abstractmethod
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
        """Return a model of the library whose first tokens are ``specials``.

        ``pieces`` has the frequency of each piece of ``Words``, without tags; the other arguments
        are those of ``train``.
        """

    @override
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        encodings = self._backend.encode_batch_fast([normalised(line) for line in lines])
        return [encoding.ids for encoding in encodings]

    @override
    def pieces_of_line(self, line: str) -> list[str]:
        # A space before the first word too: its marker then has a place of its own.
        text = "".join(f" {word}" for word in normalised(line).split())
        return [text[start:end].strip() for start, end in self._backend.encode(text).offsets]

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
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
        frequent = [piece for piece, count in pieces.items() if count >= min_frequency]
        frequent.sort(key=lambda piece: (-pieces[piece], piece))
        tokens = [*specials, *frequent][: max(vocabulary_size, len(specials))]
        numbers = {token: number for number, token in enumerate(tokens)}
        return models.WordLevel(numbers, unk_token=SPECIALS[UNK])


class Bpe(WordPieces):
    """Byte pair encoding (Sennrich et al. 2016), which cuts inside the pieces of ``Words``.

    An unknown character keeps its marker.
    """

    @property
    def merges(self) -> list[tuple[str, str]]:
        """The pieces that each merge joins, the first learned first."""
        model = json.loads(self._backend.to_str())["model"]
        return [(left, right) for left, right in model["merges"]]

    def characters(self, words: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each whitespace-separated word before any merge.

        They are its characters, with the marker. A run of unknown characters is one token, and so
        is a known tag.
        """
        encodings = self._characters.encode_batch_fast([normalised(word) for word in words])
        return [
            [self.numbers[MARKER + word]] if self._is_known_tag(word) else encoding.ids
            for word, encoding in zip(words, encodings, strict=True)
        ]

    @cached_property
    def _characters(self) -> tokenizers.Tokenizer:
        numbers = self._backend.get_vocab(with_added_tokens=False)
        return _backend(models.BPE(numbers, [], unk_token=SPECIALS[UNK], fuse_unk=True))

    def _is_known_tag(self, word: str) -> bool:
        return word.startswith(TAG_START) and MARKER + word in self.numbers and is_tag(word)

    @override
    @staticmethod
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
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
        # The trainer takes text alone: each piece as often as it occurs, between spaces.
        trained = tokenizers.Tokenizer(model)
        trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trained.train_from_iterator((f"{piece} " * pieces[piece] for piece in pieces), trainer)
        check_room(vocabulary_size, trained.get_vocab_size(with_added_tokens=False), "BPE")
        return trained.model


def is_tag(word: str) -> bool:
    """Return whether a word is a tag of the target language, such as ``<2fr>``."""
    return word.startswith(TAG_START) and len(PIECES.pre_tokenize_str(word)) == 1


def tags_of(lines: Iterable[str]) -> list[str]:
    """Return the tags in ``lines``, sorted."""
    tagged = (line for line in lines if TAG_START in line)
    return sorted({word for line in tagged for word in line.split() if is_tag(word)})


def _pieces(words: Mapping[str, int]) -> Counter[str]:
    pieces: Counter[str] = Counter()
    for word, count in words.items():
        for piece, _ in PIECES.pre_tokenize_str(normalised(word)):
            pieces[piece] += count
    return pieces


def characters_of(pieces: Mapping[str, int]) -> Counter[str]:
    """Return the frequency of each character, from the frequencies of the pieces."""
    characters: Counter[str] = Counter()
    for piece, count in pieces.items():
        for character in piece:
            characters[character] += count
    return characters


def check_room(vocabulary_size: int, needed: int, kind: str) -> None:
    """Raise ``UserError`` if the characters of a text alone exceed the vocabulary."""
    if needed > vocabulary_size:
        raise UserError(
            f"tokenizer.vocabulary_size={vocabulary_size} is too small for {kind}: the characters "
            f"of the text alone need {needed}; set tokenizer.vocabulary_size higher"
        )


def _backend(model: models.Model) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = PIECES
    return backend


class Characters(WordPieces):
    """Every character is a token, and so is the marker before a word.

    The most frequent characters are kept; a run of others inside a piece of ``Words`` is one
    unknown token.
    """

    @override
    @staticmethod
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
        counts = characters_of(pieces)
        del counts[MARKER]
        frequent = sorted(counts, key=lambda one: (-counts[one], one))
        kept = [one for one in frequent if counts[one] >= min_frequency]
        tokens = [*specials, MARKER, *kept][:vocabulary_size]
        numbers = {token: number for number, token in enumerate(tokens)}
        # BPE without merges leaves characters.
        return models.BPE(numbers, [], unk_token=SPECIALS[UNK], fuse_unk=True, ignore_merges=True)


class Unigram(WordPieces):
    """The most probable subwords inside the pieces of ``Words``, each with its own probability.

    ``min_frequency`` is that of a character: a rarer one is unknown. SentencePiece learns the
    subwords, since the trainer of ``tokenizers`` adds numbers in random order, so that scores
    differ from one training to the next; ``tokenizers`` applies them. An unknown character keeps
    its marker.
    """

    @override
    @staticmethod
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
        alphabet = characters_of(pieces)
        known = {one for one, count in alphabet.items() if count >= min_frequency} | {MARKER}
        check_room(vocabulary_size, len(known) + len(specials), "unigram")
        usual = known - {RESERVED}
        frequent = {piece: count for piece, count in pieces.items() if usual.issuperset(piece)}
        scores = _scores(frequent, vocabulary_size - len(specials)) if frequent else {}
        lowest = min(scores.values(), default=0.0)
        scores = dict.fromkeys(known.difference(scores), lowest) | scores
        best = sorted(scores, key=lambda piece: (len(piece) > 1, -scores[piece], piece))
        kept = best[: vocabulary_size - len(specials)]
        vocabulary = [(piece, 0.0) for piece in specials]
        return models.Unigram([*vocabulary, *((piece, scores[piece]) for piece in kept)], UNK)


def _scores(counts: Mapping[str, int], size: int) -> dict[str, float]:
    """Return the log-probability of about ``size`` subwords at most.

    The result depends on the counts alone: they are sorted, and one thread adds the numbers.
    """
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=(f"{piece}\t{counts[piece]}" for piece in sorted(counts)),
        model_writer=model,
        input_format="tsv",
        model_type="unigram",
        vocab_size=size + 1,  # with <unk>
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        split_by_unicode_script=False,
        split_by_number=False,
        max_sentence_length=max(map(len, counts)) * 4 + 100,  # bytes of a piece and its count
        bos_id=-1,
        eos_id=-1,
        num_threads=1,
        minloglevel=3,
    )
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    numbers = range(1, len(processor))
    return {
        processor.id_to_piece(number): round(processor.get_score(number), DECIMALS)
        for number in numbers
    }
