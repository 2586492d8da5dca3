"""Systems as they lie on the disk: past runs, and text files of any translation system."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from datamodules.errors import UserError
from datamodules.text import decode_lines, read_bytes
from lightning_modules.metrics.gold import Gold, parse_gold, read_gold
from lightning_modules.metrics.statistics import signatures, translation_statistics
from lightning_modules.metrics.systems import Labels, Output, System, TestSet
from lightning_modules.metrics.words import tokens
from lightning_modules.run_folder import (
    PREDICTIONS,
    BrokenFileError,
    Prediction,
    Result,
    read_predictions,
    read_statistics,
    read_word_counts,
)

log = logging.getLogger(__name__)


class TestSets:
    """The test sets that were met so far; runs on one text share one."""

    __test__ = False  # no test case of pytest's

    def __init__(self, known: Iterable[TestSet], ter: bool) -> None:
        """``ter``: count TER where a run did not."""
        self.known = list(known)
        self.ter = ter

    def of(self, folder: Path, predictions: Sequence[Prediction]) -> TestSet:
        """The test set of a run. Raises ``BrokenFileError``."""
        counts = read_word_counts(folder)
        test = TestSet(
            references=[prediction.reference for prediction in predictions],
            sources=[prediction.source for prediction in predictions],
            gold=_gold(predictions),
            source_counts=dict(counts.source) if counts else None,
            reference_counts=dict(counts.target) if counts else None,
        )
        for other in self.known:
            if other.same_text(test):
                if counts and isinstance(other.reference_counts, dict):
                    other.reference_counts.update(counts.target)  # of what only this run wrote
                return other
        self.known.append(test)
        return test


def _gold(predictions: Sequence[Prediction]) -> list[Gold] | None:
    if any(prediction.gold is None for prediction in predictions):
        return None
    try:
        return [parse_gold(prediction.gold or "") for prediction in predictions]
    except ValueError as error:
        raise BrokenFileError(f"{PREDICTIONS} cannot be read: {error}") from error


def read_output(folder: Path, result: Result, tests: TestSets) -> tuple[TestSet, Output]:
    """A run's translations with what each sentence adds to the scores.

    Raises ``BrokenFileError`` for a run without readable predictions.
    """
    predictions = read_predictions(folder)
    if not predictions:
        raise BrokenFileError(f"{PREDICTIONS} is missing or has no rows")
    hypotheses = [prediction.hypothesis for prediction in predictions]
    statistics = read_statistics(folder, len(predictions)) or {}
    of_this_version = result.signature == signatures()["bleu"] and "bleu" in statistics
    if not of_this_version or (tests.ter and "ter" not in statistics):
        references = [prediction.reference for prediction in predictions]
        counted = translation_statistics(hypotheses, references, tests.ter)
        statistics = {**statistics, **counted}
    return tests.of(folder, predictions), Output(result.seed, hypotheses, statistics, folder)


def read_test_set(
    references: str,
    sources: str | None,
    alignments: str | None,
    train_sources: str | None,
    train_references: str | None,
    sentence_labels: str | None,
    word_labels: str | None,
) -> TestSet:
    """A test set from text files, a sentence a line. Raises ``UserError``."""
    target = read_sentences(references, "references")
    source = None if sources is None else read_sentences(sources, "sources")
    if source is not None and len(source) != len(target):
        raise UserError(
            f"sources={sources} has {len(source)} lines, references={references} has "
            f"{len(target)}: line n of one must translate line n of the other"
        )
    for option, lines in (("references", target), ("sources", source or [])):
        empty = [number for number, line in enumerate(lines, start=1) if not line.strip()]
        if empty:
            raise UserError(f"{option}=, line {empty[0]}: empty: nothing can be scored against it")
    return TestSet(
        references=target,
        sources=source,
        gold=None if alignments is None else _read_gold(alignments, source, target),
        source_counts=_word_counts(train_sources, "train_sources", _whitespace_words),
        reference_counts=_word_counts(train_references, "train_references", tokens),
        labels=None if sentence_labels is None else _read_labels(sentence_labels, len(target)),
        word_labels=read_word_labels(word_labels, "references", target),
    )


def _read_labels(file: str, expected: int) -> list[str]:
    labels = [line.strip() for line in read_sentences(file, "sentence_labels")]
    if len(labels) != expected:
        raise UserError(
            f"sentence_labels={file} has {len(labels)} lines, the references have {expected}"
        )
    return labels


def read_word_labels(file: str | None, name: str, sentences: Sequence[str]) -> Labels | None:
    """The labels of every word of ``sentences``; None without a file. Raises ``UserError``."""
    if file is None:
        return None
    option = f"word_labels.{name}"
    labels = [line.split() for line in read_sentences(file, option)]
    if len(labels) != len(sentences):
        raise UserError(f"{option}={file} has {len(labels)} lines for {len(sentences)} sentences")
    for number, (beside, line) in enumerate(zip(labels, sentences, strict=True), start=1):
        if len(beside) != len(line.split()):
            raise UserError(
                f"{option}={file}, line {number}: {len(beside)} labels for {len(line.split())} "
                "whitespace-separated words"
            )
    return labels


def _read_gold(
    alignments: str, sources: Sequence[str] | None, references: Sequence[str]
) -> list[Gold]:
    if sources is None:
        raise UserError(f"alignments={alignments}: needs the source sentences; give sources=FILE")
    lengths = [
        (len(source.split()), len(reference.split()))
        for source, reference in zip(sources, references, strict=True)
    ]
    try:
        return read_gold(read_sentences(alignments, "alignments"), lengths)
    except ValueError as error:
        raise UserError(f"alignments={alignments}, {error}") from None


def _whitespace_words(lines: Sequence[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def _word_counts(
    path: str | None, option: str, cut: Callable[[Sequence[str]], list[list[str]]]
) -> Mapping[str, int] | None:
    if path is None:
        return None
    return Counter(chain.from_iterable(cut(read_sentences(path, option))))


def read_file_system(
    name: str, files: Sequence[str], labels: Sequence[str | None], test: TestSet, ter: bool
) -> System:
    """A system's outputs, a file for each seed, numbered from 1. Raises ``UserError``.

    ``labels`` are the files with labels for their words.
    """
    outputs = []
    for seed, (file, beside) in enumerate(zip(files, labels, strict=True), start=1):
        hypotheses = read_sentences(file, f"systems.{name}")
        _check_lines(name, file, hypotheses, len(test.references))
        statistics = translation_statistics(hypotheses, test.references, ter)
        word_labels = read_word_labels(beside, name, hypotheses)
        outputs.append(Output(seed, hypotheses, statistics, word_labels=word_labels))
    return System(name, test, outputs)


def _check_lines(name: str, file: str, hypotheses: Sequence[str], expected: int) -> None:
    blank = [number for number, line in enumerate(hypotheses, start=1) if not line.strip()]
    if len(hypotheses) > expected and blank[-(len(hypotheses) - expected) :] == list(
        range(expected + 1, len(hypotheses) + 1)
    ):
        raise UserError(
            f"systems.{name}={file} has {len(hypotheses) - expected} empty lines after line "
            f"{expected}, the last of the references: remove them"
        )
    if len(hypotheses) != expected:
        raise UserError(
            f"systems.{name}={file} has {len(hypotheses)} lines, the references have {expected}: "
            "line n must translate sentence n"
        )
    if blank:
        log.warning(
            "systems.%s=%s: %d of %d hypotheses are empty (the first in line %d); they count as "
            "translations without words",
            name, file, len(blank), expected, blank[0],
        )  # fmt: skip


def read_sentences(name: str, option: str) -> list[str]:
    """The lines of a file, plain or ``.gz``. Raises ``UserError`` that names the option."""
    path = Path(name)
    return decode_lines(path, read_bytes(path, option), option)
