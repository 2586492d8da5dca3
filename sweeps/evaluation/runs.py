"""The outputs of past runs, and the test sets that they share."""

import logging
from collections.abc import Sequence
from pathlib import Path

from lightning_modules.metrics.gold import Gold, parse_gold
from lightning_modules.metrics.statistics import signatures, translation_statistics
from lightning_modules.metrics.systems import Output, TestSet
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

    def __init__(self, given: TestSet | None, ter: bool) -> None:
        """``given``: what the user named; ``ter``: count TER where a run did not."""
        self.given = given
        self.ter = ter
        self._known = [] if given is None else [given]

    def of(self, folder: Path, predictions: Sequence[Prediction]) -> TestSet:
        """The test set of a run. Raises ``BrokenFileError``."""
        counts = read_word_counts(folder)
        test = TestSet(
            references=[prediction.reference for prediction in predictions],
            sources=[prediction.source for prediction in predictions],
            gold=_gold(predictions),
            source_counts=dict(counts.source) if counts else None,
            reference_counts=dict(counts.target) if counts else None,
            reference_word_counts=counts.reference or None if counts else None,
        )
        for other in self._known:
            if other.same_text(test):
                other.complete(test)
                return other
        self._known.append(test)
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
    nats = [prediction.reference_nats for prediction in predictions]
    known = [of_words for of_words in nats if of_words is not None]
    output = Output(
        seed=result.seed,
        hypotheses=hypotheses,
        statistics=statistics,
        folder=folder,
        reference_nats=known if len(known) == len(nats) else None,
        attention_step=result.attention_step if "links" in statistics else None,
    )
    return tests.of(folder, predictions), output
