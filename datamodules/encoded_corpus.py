"""Vocabularies and encoded splits of a corpus, built once and stored in a folder."""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import SPLITS, Corpus, ParallelText, Split, read_split
from datamodules.errors import UserError
from datamodules.files import locked, whole_file, write_json
from datamodules.phrase_table import PhraseTable
from datamodules.suspicions import suspicions_of_corpus
from datamodules.tokenization import Tokenizers, TokenizerSettings

log = logging.getLogger(__name__)


class EncodedCorpus(NamedTuple):
    """The parts of a corpus that training and scoring need."""

    tokenizers: Tokenizers
    encoded: dict[Split, EncodedPairs]
    text: dict[Split, ParallelText]
    """Sentences of each split; ``train`` has only the counts of left-out pairs, no sentences."""
    word_counts: dict[str, dict[str, int]]
    """Frequency of each word in the training text. ``source`` and ``reference`` count the
    whitespace-separated words of the two sides, ``target`` the tokens of sacreBLEU's ``13a``."""
    suspicions: Sequence[str] = ()
    """What looks wrong in the text; files of earlier versions do not say."""
    phrase_table: list[str] | None = None
    """Translations of the test sentences by the phrase table of the training text; None without
    gold links in training, and in files of earlier versions."""

    @classmethod
    def of(cls, corpus: Corpus, settings: TokenizerSettings, folder: Path) -> Self:
        """Read ``folder``; if a file is missing or damaged, encode the corpus and write ``folder``.

        Among concurrent ranks and jobs, one process encodes the corpus and the others read the
        files. Raises ``UserError`` if the folder cannot be written, and the errors of the corpus.
        """
        with suppress(Exception):  # the second attempt below reports the damage
            return cls._load(folder, settings)
        with ExitStack() as stack:
            with _writing(folder):
                stack.enter_context(locked(folder.with_name(f".{folder.name}.lock")))
            try:
                return cls._load(folder, settings)
            except FileNotFoundError:
                log.info("encoding the corpus into %s", folder)
            except Exception as error:  # any kind of damage is mended by a new build
                log.warning("%s is damaged and is made again: %s", folder, error)
            encoded_corpus = cls._build(corpus, settings)
            with _writing(folder):
                encoded_corpus._save(folder)
            return encoded_corpus

    @classmethod
    def _build(cls, corpus: Corpus, settings: TokenizerSettings) -> Self:
        text = {split: read_split(corpus, split) for split in SPLITS}
        tokenizers = Tokenizers.train(text["train"], settings)
        encoded = {split: _encode(text[split], tokenizers) for split in SPLITS}
        tokenize = Tokenizer13a()
        word_counts = {
            "source": _count(line.split() for line in text["train"].source),
            "target": _count(tokenize(line).split() for line in text["train"].target),
            "reference": _count(line.split() for line in text["train"].target),
        }
        suspicions = [str(each) for each in suspicions_of_corpus(text["train"], text["test"])]
        phrase_table = _phrase_table(corpus.name, text)
        text["train"] = replace(text["train"], source=[], target=[], alignments=None)
        return cls(tokenizers, encoded, text, word_counts, suspicions, phrase_table)

    def _save(self, folder: Path) -> None:
        self.tokenizers.save(folder)
        arrays = {
            f"{split}_{side}_{name}": array
            for split, pairs in self.encoded.items()
            for side, sequences in (("src", pairs.src), ("tgt", pairs.tgt))
            for name, array in (("tokens", sequences.tokens), ("lengths", sequences.lengths))
        }
        with whole_file(folder / "encoded.npz") as temporary:
            np.savez(temporary, allow_pickle=False, **arrays)
        content: dict[str, Any] = {split: asdict(text) for split, text in self.text.items()}
        content["tokenizers"] = _fingerprints(self.tokenizers)
        content["word_counts"] = self.word_counts
        content["suspicions"] = self.suspicions
        content["phrase_table"] = self.phrase_table
        write_json(folder / "text.json", content)

    @classmethod
    def _load(cls, folder: Path, settings: TokenizerSettings) -> Self:
        tokenizers = Tokenizers.load(folder, settings.kind)
        content = json.loads((folder / "text.json").read_text(encoding="utf-8"))
        if content["tokenizers"] != _fingerprints(tokenizers):
            raise ValueError("text.json was written for other vocabularies")
        text = {split: ParallelText(**content[split]) for split in SPLITS}
        with np.load(folder / "encoded.npz", allow_pickle=False) as arrays:
            encoded = {split: _pairs(arrays, split) for split in SPLITS}
        for split in ("val", "test"):
            if len(text[split]) != len(encoded[split]):
                raise ValueError(f"{split}: text.json and encoded.npz differ in length")
        later = {key: content[key] for key in ("suspicions", "phrase_table") if key in content}
        return cls(tokenizers, encoded, text, content["word_counts"], **later)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{error.filename or folder}: cannot be written ({error.strerror or error}); "
            "make room there or choose another folder with cache_dir=..."
        ) from error


def _phrase_table(name: str, text: Mapping[Split, ParallelText]) -> list[str] | None:
    if text["train"].alignments is None:
        return None
    try:
        table = PhraseTable.of(text["train"])
    except ValueError as error:
        raise UserError(f"data={name}, train: gold alignments, {error}") from None
    return [table.translate(line) for line in text["test"].source]


def _encode(text: ParallelText, tokenizers: Tokenizers) -> EncodedPairs:
    src = Sequences.of(tokenizers.source.encode(text.source))
    tgt = Sequences.of(tokenizers.target.encode(text.target))
    return EncodedPairs(np.arange(len(text)), src, tgt)


def _count(lines: Iterable[list[str]]) -> dict[str, int]:
    return dict(Counter(chain.from_iterable(lines)))


def _pairs(arrays: Any, split: Split) -> EncodedPairs:
    src, tgt = (
        Sequences.joined(arrays[f"{split}_{side}_tokens"], arrays[f"{split}_{side}_lengths"])
        for side in ("src", "tgt")
    )
    return EncodedPairs(np.arange(len(src.lengths)), src, tgt)


def _fingerprints(tokenizers: Tokenizers) -> list[str]:
    return [tokenizer.fingerprint for tokenizer in tokenizers]
