"""Vocabularies and encoded splits of a corpus, prepared once and stored in a folder."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from datamodules.batching import EncodedPairs, SpelledText
from datamodules.cleaning import Cleaning
from datamodules.corpus import SPLITS, Corpus, ParallelText, Split
from datamodules.corpus_statistics import CorpusStatistics
from datamodules.errors import UserError, one_line
from datamodules.files import locked, remove_half_written
from datamodules.prepare import INDEX, STATISTICS, UNFINISHED, WORD_COUNTS, build
from datamodules.sequences import check_files, load_sequences
from datamodules.tokenization import Tokenizers, TokenizerSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EncodedCorpus:
    """The parts of a corpus that training and scoring need."""

    tokenizers: Tokenizers
    encoded: dict[Split, EncodedPairs]  # token numbers, mapped from the disk
    spelled: tuple[SpelledText, SpelledText] | None
    """Words of the training text and their characters, mapped from the disk; None without
    ``tokenizer.dropout``."""
    text: dict[Split, ParallelText]  # sentences; of ``train`` only the left-out counts
    suspicions: Sequence[str]  # what looks wrong in the text
    phrase_table: list[str] | None
    """Translations of the test sentences by the phrase table of the training text; None without
    gold links in training."""
    nearest_copies: list[str] | None
    """Targets of the training sentences that are most like the test sentences; None where the
    training text is not read."""
    statistics: CorpusStatistics | None  # None where the training text is not read
    folder: Path | None  # the folder that keeps all parts

    @classmethod
    def of(
        cls, corpus: Corpus, cleaning: Cleaning, settings: TokenizerSettings, folder: Path
    ) -> Self:
        """Read ``folder``; if a file is missing or damaged, prepare the corpus in ``folder``.

        Among concurrent ranks and jobs, one process prepares the corpus and the others read the
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
                log.warning("%s is damaged and is made again: %s", folder, one_line(error))
            with _writing(folder):
                remove_half_written(folder)
                try:
                    build(corpus, cleaning, settings, folder)
                finally:
                    _remove_if_empty(folder)
            return cls._load(folder, settings)

    @cached_property
    def word_counts(self) -> dict[str, dict[str, int]]:
        """Frequency of each whitespace-separated word of the training text.

        ``source`` and ``reference`` count the words of the two sides.
        """
        assert self.folder is not None
        counts: dict[str, dict[str, int]] = json.loads((self.folder / WORD_COUNTS).read_bytes())
        return counts

    @classmethod
    def _load(cls, folder: Path, settings: TokenizerSettings) -> Self:
        tokenizers = Tokenizers.load(folder, settings.kind)
        index = json.loads((folder / INDEX).read_bytes())
        if index["tokenizers"] != [tokenizer.fingerprint for tokenizer in tokenizers]:
            raise ValueError(f"{INDEX} was written for other vocabularies")
        check_files(folder, index["checksums"])
        text = {split: ParallelText(**index[split]) for split in SPLITS}
        encoded = {split: _pairs(folder, split) for split in SPLITS}
        for split in ("val", "test"):
            if len(text[split]) != len(encoded[split]):
                raise ValueError(f"{split}: the text and its numbers differ in length")
        spelled = _spelled(folder) if settings.dropout else None
        statistics = CorpusStatistics.model_validate_json((folder / STATISTICS).read_bytes())
        return cls(
            tokenizers,
            encoded,
            spelled,
            text,
            index["suspicions"],
            index["phrase_table"],
            index["nearest_copies"],
            statistics,
            folder,
        )


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{error.filename or folder}: cannot be written ({error.strerror or error}); "
            "make room there or choose another folder with cache_dir=..."
        ) from error


def _remove_if_empty(folder: Path) -> None:
    for place in (folder / UNFINISHED, folder):
        with suppress(OSError):
            place.rmdir()


def _pairs(folder: Path, split: Split) -> EncodedPairs:
    src, tgt = (load_sequences(folder, f"{split}.{side}") for side in Tokenizers._fields)
    if len(src.lengths) != len(tgt.lengths):
        raise ValueError(f"{folder}: the sides of {split} differ in length")
    return EncodedPairs(None, src, tgt)


def _spelled(folder: Path) -> tuple[SpelledText, SpelledText]:
    source, target = (
        SpelledText(
            *(load_sequences(folder, f"train.{side}.{part}") for part in SpelledText._fields)
        )
        for side in Tokenizers._fields
    )
    return source, target
