"""Test sets and systems as text files, a sentence a line."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from datamodules.errors import UserError
from datamodules.text import read_lines
from lightning_modules.gold_files import read_gold_file
from lightning_modules.metrics.gold import Gold
from lightning_modules.metrics.statistics import translation_statistics
from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.metrics.words import tokens

log = logging.getLogger(__name__)

REFERENCES = "references"
"""What ``word_labels`` calls the references."""
OPTIONS = (
    "references",
    "sources",
    "alignments",
    "train_sources",
    "train_references",
    "sentence_labels",
)
"""The files of a test set, by their options; and ``word_labels.references``."""


def read_test_set(files: Mapping[str, str]) -> TestSet:
    """A test set from text files by their options, ``references`` among them.

    Raises ``UserError``.
    """
    references = read_lines(files["references"], "references")
    sources = read_lines(files["sources"], "sources") if "sources" in files else None
    if sources is not None and len(sources) != len(references):
        raise UserError(
            f"sources={files['sources']} has {len(sources)} lines, references="
            f"{files['references']} has {len(references)}: line n of one must translate line n of "
            "the other"
        )
    _refuse_empty("references", files["references"], references)
    _refuse_empty("sources", files.get("sources"), sources or [])
    labels = files.get(f"word_labels.{REFERENCES}")
    return TestSet(
        references=references,
        sources=sources,
        gold=_read_gold(files.get("alignments"), sources, references),
        source_counts=_word_counts(files, "train_sources", _whitespace_words),
        reference_counts=_word_counts(files, "train_references", tokens),
        reference_word_counts=_word_counts(files, "train_references", _whitespace_words),
        labels=_read_labels(files.get("sentence_labels"), len(references)),
        word_labels=_read_beside(labels, f"word_labels.{REFERENCES}", references),
    )


def _read_labels(file: str | None, expected: int) -> list[str] | None:
    if file is None:
        return None
    labels = [line.strip() for line in read_lines(file, "sentence_labels")]
    if len(labels) != expected:
        raise UserError(
            f"sentence_labels={file} has {len(labels)} lines, the references have {expected}"
        )
    if not all(labels):
        raise UserError(f"sentence_labels={file}, line {labels.index('') + 1}: empty")
    return labels


def _read_beside(file: str | None, option: str, sentences: Sequence[str]) -> list[list[str]] | None:
    """Something for every whitespace-separated word of ``sentences``; None without a file."""
    if file is None:
        return None
    given = [line.split() for line in read_lines(file, option)]
    if len(given) != len(sentences):
        raise UserError(f"{option}={file} has {len(given)} lines for {len(sentences)} sentences")
    for number, (beside, line) in enumerate(zip(given, sentences, strict=True), start=1):
        if len(beside) != len(line.split()):
            raise UserError(
                f"{option}={file}, line {number}: {len(beside)} values for {len(line.split())} "
                "whitespace-separated words"
            )
    return given


def _read_nats(
    file: str | None, option: str, references: Sequence[str]
) -> list[list[float]] | None:
    """Negative log-likelihoods of the words of the references, from a file of logarithms."""
    given = _read_beside(file, option, references)
    if given is None:
        return None
    nats = []
    for number, beside in enumerate(given, start=1):
        try:
            nats.append([-float(value) for value in beside])
        except ValueError as error:
            raise UserError(f"{option}={file}, line {number}: {error}") from None
        if not all(0 <= value < math.inf for value in nats[-1]):
            raise UserError(
                f"{option}={file}, line {number}: a logarithm of a probability is 0 or less, finite"
            )
    return nats


def _refuse_empty(option: str, file: str | None, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise UserError(
                f"{option}={file}, line {number}: empty: leave the sentence out of every file"
            )


def _read_gold(
    alignments: str | None, sources: Sequence[str] | None, references: Sequence[str]
) -> list[Gold] | None:
    if alignments is None:
        return None
    if sources is None:
        raise UserError(f"alignments={alignments}: needs the source sentences; give sources=FILE")
    return read_gold_file(alignments, "alignments", sources, references)


def _whitespace_words(lines: Sequence[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def _word_counts(
    files: Mapping[str, str], option: str, cut: Callable[[Sequence[str]], list[list[str]]]
) -> Mapping[str, int] | None:
    if option not in files:
        return None
    words = chain.from_iterable(cut(read_lines(files[option], option)))
    return MappingProxyType(Counter(words))  # a run beside them counted other training text


def read_file_system(
    name: str,
    files: Sequence[str],
    beside: Mapping[str, Sequence[str]],
    test: TestSet,
    ter: bool,
) -> System:
    """A system's outputs, a file for each seed, numbered from 1. Raises ``UserError``.

    ``beside`` has a file for each of them under ``word_labels`` and ``log_likelihoods``.
    """
    outputs = []
    for seed, file in enumerate(files, start=1):
        hypotheses = read_lines(file, f"systems.{name}")
        _check_lines(name, file, hypotheses, len(test.references))
        statistics = translation_statistics(hypotheses, test.references, ter)
        labels, likelihoods = (
            beside[option][seed - 1] if option in beside else None
            for option in ("word_labels", "log_likelihoods")
        )
        output = Output(
            seed=seed,
            hypotheses=hypotheses,
            statistics=statistics,
            word_labels=_read_beside(labels, f"word_labels.{name}", hypotheses),
            reference_nats=_read_nats(likelihoods, f"log_likelihoods.{name}", test.references),
        )
        outputs.append(output)
    return System(name, test, outputs)


def _check_lines(name: str, file: str, hypotheses: Sequence[str], expected: int) -> None:
    blank = [number for number, line in enumerate(hypotheses, start=1) if not line.strip()]
    if len(hypotheses) > expected and not "".join(hypotheses[expected:]).strip():
        raise UserError(
            f"systems.{name}={file} goes on with nothing but empty lines after line {expected}, "
            "the last of the references: remove them"
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
