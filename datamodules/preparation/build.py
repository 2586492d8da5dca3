"""Prepare the splits of a corpus: text, vocabularies, token numbers, and an index of all."""

import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from datamodules.cleaning import Cleaner, Cleaning, HeldOut, StepCount, swapped
from datamodules.cleaning.language import CHECKED
from datamodules.corpus import Corpus, ParallelText, Split, read_split
from datamodules.files import write_json
from datamodules.preparation.line_encoder import LineEncoder
from datamodules.preparation.parts import SIDES
from datamodules.preparation.store import checksum, save_side
from datamodules.preparation.training_text import TrainingText
from datamodules.suspicions import Suspicion, examples_of
from datamodules.tokenization import Tokenizers, TokenizerSettings

INDEX = "index.json"
"""File with the text of validation and test and all that is small; written last."""
WORD_COUNTS = "word_counts.json"
"""File with the frequency of each word of the training text."""
PREPARATION = "preparation.json"
"""File with what the preparation did, and how long each stage took."""
HELD_OUT: tuple[Split, ...] = ("val", "test")


@dataclass(frozen=True)
class Preparation:
    """What the preparation of a corpus did."""

    pairs: int
    """Training pairs that the corpus gave, before cleaning."""
    seconds: dict[str, float]
    """Seconds of each stage; after an interruption, of the last process."""
    steps: list[StepCount]
    """What each step of cleaning did."""


@dataclass
class Clock:
    """Times the stages of the preparation."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now


def build(corpus: Corpus, cleaning: Cleaning, settings: TokenizerSettings, folder: Path) -> None:
    """Write all files of a prepared corpus into ``folder``; an interrupted preparation goes on.

    Raises the errors of the corpus and of the tokenizers, and ``OSError``.
    """
    languages = corpus.source, corpus.target
    given = {split: read_split(corpus, split) for split in HELD_OUT}
    held_out = {split: cleaning.text(text, corpus.source) for split, text in given.items()}
    # As training has these sentences: the references too are cleaned.
    sentences = {
        split: ParallelText(text.source, cleaning.lines(text.target, corpus.target))
        for split, text in held_out.items()
    }
    tested = frozenset(zip(sentences["test"].source, sentences["test"].target, strict=True))
    clock = Clock()
    parts = folder / "parts"
    cleaner = Cleaner(cleaning, languages, HeldOut.of(sentences.values()))
    training = TrainingText(corpus, cleaner, parts)
    clock.lap("text")
    tokenizers = Tokenizers.train(training.sample(settings.sample_pairs), settings)
    tokenizers.save(folder)
    clock.lap("vocabularies")
    numbers = training.write_numbers(folder, tokenizers, settings, tested)
    checksums: dict[str, Any] = {"train": numbers}
    for split, text in held_out.items():
        checksums[split] = _encode(text, tokenizers, folder, split)
    write_json(folder / WORD_COUNTS, training.word_counts())
    checksums[WORD_COUNTS] = checksum(folder / WORD_COUNTS)
    clock.lap("tokens")
    made = Preparation(training.pairs_read, clock.seconds, training.steps)
    write_json(folder / PREPARATION, asdict(made))
    suspicions = [*training.suspicions(held_out["test"]), *_swapped(corpus, given["val"])]
    index: dict[str, Any] = {
        "train": asdict(training.left_out()),
        **{split: asdict(text) for split, text in held_out.items()},
        "checksums": checksums,
        "tokenizers": [tokenizer.fingerprint for tokenizer in tokenizers],
        "suspicions": [str(each) for each in suspicions],
        "phrase_table": training.phrase_table(held_out["test"]),
    }
    write_json(folder / INDEX, index)
    shutil.rmtree(parts)


def _swapped(corpus: Corpus, text: ParallelText) -> list[Suspicion]:
    if corpus.generated:
        return []
    found = swapped(text, (corpus.source, corpus.target))
    what = "validation pairs have the languages swapped (data.source, data.target)"
    return [Suspicion(what, len(found), CHECKED, examples_of(found))] if found else []


def _encode(
    text: ParallelText, tokenizers: Tokenizers, folder: Path, split: Split
) -> dict[str, int]:
    checksums: dict[str, int] = {}
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        numbers = LineEncoder(tokenizer).encode(getattr(text, side))
        checksums |= save_side(folder, f"{split}.{side}", [numbers])
    return checksums
