"""Test sets and outputs of systems, read from the user's text files or from run folders.

``read_test_set`` and ``read_file_system`` read text files; ``read_output`` reads a run, and
``EvalSetCache`` lets runs on equal text share a test set.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from datamodules.errors import UserError
from datamodules.lines import read_lines
from datamodules.nearest_copy import NEAREST_COPY
from lightning_modules.metrics.chosen_metrics import (
    find_metrics,
    find_recorded_metric,
    translation_statistics,
)
from lightning_modules.metrics.metric import TextMetric
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import TEXT_METRICS, Bleu
from lightning_modules.metrics.word_alignment import Gold, parse_gold
from lightning_modules.metrics.words import WordRules, WordSettings, tokens
from lightning_modules.runs.files import BrokenFileError, RunScores
from lightning_modules.runs.job import run_label
from lightning_modules.runs.paths import PREDICTIONS
from lightning_modules.runs.schema import Result
from lightning_modules.testing.scoring import PHRASE_TABLE

log = logging.getLogger(__name__)


OPTIONS = ("references", "sources", "train_references", "sentence_labels")
"""Options that each take a file of the test set; ``references`` takes several too."""

# Text files


def read_test_set(files: Mapping[str, Sequence[str]], rules: WordRules) -> EvalSet:
    """Read a test set from text files by option, ``references`` included. Raises ``UserError``."""
    first, *others = files["references"]
    references = _read_full_lines("references", first)
    further = [_read_aligned("references", other, first, len(references)) for other in others]
    sources, counts = None, None
    for file in files.get("sources", ()):
        sources = _read_full_lines("sources", file)
        _check_aligned("sources", file, first, len(sources), len(references))
        rules.source.check(sources, "source", f"sources={file}")
    rules.target.check(references, "target", f"references={first}")
    for file in files.get("train_references", ()):
        # No dict, so that EvalSet.complete adds no counts of a run, which had another training
        # text.
        of_training = tokens(read_lines(file, "train_references"), rules.target)
        counts = MappingProxyType(Counter(chain.from_iterable(of_training)))
    return EvalSet(
        references,
        sources,
        list(zip(*further, strict=True)),
        rules,
        reference_counts=counts,
        labels=_read_sentence_labels(files.get("sentence_labels"), len(references)),
        files=dict(files),
    )


def _read_aligned(option: str, file: str, first: str, expected: int) -> list[str]:
    lines = read_lines(file, option)
    _check_aligned(option, file, first, len(lines), expected)
    return lines


def _check_aligned(option: str, file: str, first: str, lines: int, expected: int) -> None:
    """Raise ``UserError`` unless a file has as many lines as the ``first`` references."""
    if lines != expected:
        raise UserError(
            f"{option}={file} has {lines} lines, references={first} has {expected}: line n of one "
            "must translate line n of the other"
        )


def _read_full_lines(option: str, file: str) -> list[str]:
    lines = read_lines(file, option)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise UserError(
                f"{option}={file}, line {number}: empty: leave the sentence out of every file"
            )
    return lines


def read_file_system(
    name: str, files: Sequence[str], test: EvalSet, metrics: Sequence[TextMetric]
) -> System:
    """Read a system's outputs: a file for each seed, numbered from 1. Raises ``UserError``."""
    outputs = []
    for seed, file in enumerate(files, start=1):
        hypotheses = read_lines(file, f"systems.{name}")
        _check_hypotheses(name, file, hypotheses, len(test.references))
        statistics = translation_statistics(metrics, test, hypotheses)
        outputs.append(Output(seed, hypotheses, statistics, metrics, file=file))
    return System(name, test, outputs)


def _check_hypotheses(name: str, file: str, hypotheses: Sequence[str], expected: int) -> None:
    blank = [number for number, line in enumerate(hypotheses, start=1) if not line.strip()]
    if len(hypotheses) > expected and not "".join(hypotheses[expected:]).strip():
        raise UserError(
            f"systems.{name}={file} has empty lines after line {expected}, where the references "
            "end: remove them"
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


def _read_sentence_labels(files: Sequence[str] | None, expected: int) -> list[str] | None:
    if files is None:
        return None
    [file] = files
    labels = [line.strip() for line in read_lines(file, "sentence_labels")]
    if len(labels) != expected:
        raise UserError(
            f"sentence_labels={file} has {len(labels)} lines, the references have {expected}"
        )
    if not all(labels):
        raise UserError(f"sentence_labels={file}, line {labels.index('') + 1}: empty")
    return labels


# Run folders


@dataclass(frozen=True, eq=False)
class RunOutput:
    """A finished run, its test set, and its translations."""

    folder: Path
    result: Result
    test: EvalSet
    output: Output
    name: str = ""  # key of the system in a comparison; its seeds share the name
    label: str = ""  # what people read in place of the name

    @property
    def training(self) -> str:
        """What people read of this one training."""
        return run_label(self.label, self.result.seed)


class EvalSetCache:
    """The test sets read so far; runs on equal text share one test set."""

    def __init__(
        self,
        given: EvalSet | None,
        words: WordSettings,
        metrics: Sequence[str],
        recorded: bool = False,
    ) -> None:
        """Start with the user's test set, if any, and the metrics to count where a run did not.

        ``words`` say how the words of runs are cut, whatever the runs recorded; a test set that
        the user gave keeps its rules. With ``recorded``, ``metrics`` are a record, and a user's
        metric may be gone. Otherwise raises ``UserError`` for a metric that cannot be used.
        """
        self.given = given
        self._words = words
        self._known = [] if given is None else [given]
        self._find = cache(find_recorded_metric)
        self._parse_gold = cache(_parse_gold)  # runs on one test set have the same lines
        self.metrics = self.recorded(metrics) if recorded else find_metrics(metrics)

    def recorded(self, names: Sequence[str]) -> list[TextMetric]:
        """Return BLEU and the metrics that a run recorded, as far as they can still be found."""
        return [Bleu(), *(found for found in map(self._find, names) if found is not None)]

    def of(self, run: RunScores) -> EvalSet:
        """Return the test set of a run. Raises ``BrokenFileError``."""
        predictions, counts = run.predictions, run.word_counts
        languages = run.result.data.source, run.result.data.target
        further = [prediction.further_references for prediction in predictions]
        sets = [each.set for each in predictions if each.set is not None]
        test = EvalSet(
            [prediction.reference for prediction in predictions],
            [prediction.source for prediction in predictions],
            further if any(further) else (),
            self._words.rules(*languages) if self.given is None else self.given.rules,
            gold=self._parse_gold(tuple(prediction.gold for prediction in predictions)),
            reference_counts=dict(counts.target) if counts else None,
            sets=sets if len(sets) == len(predictions) else None,
            unknown={number for number, each in enumerate(predictions) if each.unknown},
        )
        signatures = (run.result.signature, Bleu().signature_on(test))
        if len({(each or "").partition("|version:")[0] for each in signatures}) > 1:
            test.reference_counts = None  # of words that were cut in another way
        for other in self._known:
            if other.same_text(test):
                other.complete(test)
                return other
        self._known.append(test)
        return test


def read_output(folder: Path, run: RunScores, tests: EvalSetCache) -> RunOutput:
    """Return a run with its translations and the statistics of each sentence.

    Raises ``BrokenFileError`` for gold alignments that cannot be read.
    """
    result, predictions, statistics = run.result, run.predictions, run.statistics
    hypotheses = [prediction.hypothesis for prediction in predictions]
    metrics = [*tests.metrics, *tests.recorded(result.metrics)]
    test = tests.of(run)
    lacking = [metric for metric in tests.metrics if metric.statistics not in statistics]
    if not _scored_alike(result, test):
        lacking += [metric for metric in metrics if metric.name in TEXT_METRICS]
    counted = translation_statistics(lacking, test, hypotheses)
    made = {
        PHRASE_TABLE: [p.phrase_table for p in predictions if p.phrase_table is not None],
        NEAREST_COPY: [p.nearest_copy for p in predictions if p.nearest_copy is not None],
    }
    output = Output(
        seed=result.seed,
        hypotheses=hypotheses,
        statistics={**statistics, **counted},
        metrics=metrics,
        folder=folder,
        contrast=run.choices,
        baselines={name: lines for name, lines in made.items() if len(lines) == len(predictions)},
        attention_step=result.attention_step if "links" in statistics else None,
    )
    return RunOutput(folder, result, test, output)


def _scored_alike(result: Result, test: EvalSet) -> bool:
    """Return whether a run has the scores of its test set: same sacreBLEU, words, case."""
    return result.signature == Bleu().signature_on(test)


def _parse_gold(lines: tuple[str | None, ...]) -> list[Gold] | None:
    known = [line for line in lines if line is not None]
    if len(known) < len(lines):
        return None
    try:
        return [parse_gold(line) for line in known]
    except ValueError as error:
        raise BrokenFileError(f"{PREDICTIONS} cannot be read: {error}") from error
