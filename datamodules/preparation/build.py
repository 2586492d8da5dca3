"""Prepare the splits of a corpus: text, vocabularies, token numbers, and an index of all."""

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from datamodules.cleaning import Cleaner, Cleaning, HeldOut, swapped
from datamodules.corpus import Corpus, ParallelText, Split, examples_of, read_split
from datamodules.corpus_statistics import (
    CorpusStatistics,
    SideCounts,
    SideStatistics,
    Suspicion,
    bins_of,
    side_statistics,
)
from datamodules.files import write_json, write_text
from datamodules.preparation.line_encoder import LineEncoder
from datamodules.preparation.parts import SIDES
from datamodules.preparation.space import check_space
from datamodules.preparation.store import checksum, save_side
from datamodules.preparation.training_text import TrainingText
from datamodules.tokenization import Tokenizers, TokenizerSettings

INDEX = "index.json"
"""File with the text of validation and test and all that is small; written last."""
WORD_COUNTS = "word_counts.json"
"""File with the frequency of each word of the training text."""
STATISTICS = "statistics.json"
"""File with what the preparation did and what the text holds: ``CorpusStatistics``."""
Counted = tuple[SideCounts, int]
"""Counts of one side of a split, and its number of different words."""
HELD_OUT: tuple[Split, ...] = ("val", "test")


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
    check_space(corpus, settings, folder)
    clock = Clock()
    languages = corpus.source, corpus.target
    given = {split: read_split(corpus, split) for split in HELD_OUT}
    held_out = {split: cleaning.text(text, corpus.source) for split, text in given.items()}
    # As training has these sentences: the references too are cleaned.
    sentences = {
        split: ParallelText(text.source, cleaning.lines(text.target, corpus.target))
        for split, text in held_out.items()
    }
    tested = frozenset(zip(sentences["test"].source, sentences["test"].target, strict=True))
    parts = folder / "parts"
    cleaner = Cleaner(cleaning, languages, HeldOut.of(sentences.values()))
    training = TrainingText(corpus, cleaner, parts)
    clock.lap("text")
    tokenizers = Tokenizers.train(training.sample(settings.sample_pairs), settings)
    tokenizers.save(folder)
    clock.lap("vocabularies")
    numbers = training.write_numbers(folder, tokenizers, settings, tested)
    checksums = dict(numbers)
    counts: dict[str, dict[str, Counted]] = {"train": training.counts}
    for split, text in held_out.items():
        of_split, counts[split] = _encode(text, tokenizers, folder, split)
        checksums |= of_split
    # Without line breaks: the writer of indented JSON takes ten times as long.
    write_text(folder / WORD_COUNTS, json.dumps(training.word_counts(), ensure_ascii=False))
    checksums[WORD_COUNTS] = checksum(folder / WORD_COUNTS)
    clock.lap("tokens")
    bins = bins_of(side for sides in counts.values() for side, _ in sides.values())
    statistics = CorpusStatistics(
        pairs_read=training.pairs_read,
        left_out={split: text.left_out for split, text in held_out.items()},
        cleaning=training.steps,
        seconds=clock.seconds,
        leaked=training.leaked(sentences["test"]),
        bins=bins,
        splits={split: _statistics(sides, bins) for split, sides in counts.items()},
    )
    write_json(folder / STATISTICS, statistics.model_dump())
    suspicions = training.suspicions(sentences["test"])
    suspicions += _swapped(corpus, {"training": training.first, "validation": given["val"]})
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


def _swapped(corpus: Corpus, texts: Mapping[str, ParallelText]) -> list[Suspicion]:
    if corpus.generated:
        return []
    suspicions = []
    for split, text in texts.items():
        found, checked = swapped(text, (corpus.source, corpus.target))
        what = f"{split} pairs have the languages swapped (data.source, data.target)"
        if found:
            suspicions.append(Suspicion(what, len(found), checked, examples_of(found)))
    return suspicions


def _encode(
    text: ParallelText, tokenizers: Tokenizers, folder: Path, split: Split
) -> tuple[dict[str, int], dict[str, Counted]]:
    """Write the token numbers of a split; return checksums of the files, and counts by side."""
    checksums: dict[str, int] = {}
    counts: dict[str, Counted] = {}
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        encoded = LineEncoder(tokenizer).encode_and_count(getattr(text, side))
        checksums |= save_side(folder, f"{split}.{side}", [encoded.tokens])
        found = SideCounts.of(encoded.words[1], encoded.tokens[1], encoded.tokens[0])
        counts[side] = found, len(encoded.frequencies)
    return checksums, counts


def _statistics(counts: Mapping[str, Counted], bins: list[int]) -> dict[str, SideStatistics]:
    return {side: side_statistics(each, types, bins) for side, (each, types) in counts.items()}
