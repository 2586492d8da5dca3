"""How a test set is scored: the group ``scoring`` of the configuration, and the baselines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from lightning_modules.metrics.chosen_metrics import translation_statistics
from lightning_modules.metrics.lengths import (
    Bounds,
    Bucket,
    LengthUnit,
    check_edges,
    equal_edges,
    length_buckets,
    merged_edges,
    sentence_lengths,
)
from lightning_modules.metrics.metric import Metric, TextMetric
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.words import WordRules, WordSettings
from lightning_modules.runs.schema import Baseline

StepRule = Literal["predicted", "read", "footnote14"]
"""The decoder step whose attention belongs to a word; see ``forced_decoding.step_by_rule``."""


class Scoring(WordSettings, extra="forbid", frozen=True):
    """Settings that every score of a test set depends on; conf/settings.yaml explains each."""

    edges: list[int]
    equal_buckets: int | None
    least_sentences: int
    unit: LengthUnit
    metrics: list[str]
    resamples: int
    seed: int
    attention_step: StepRule
    contrastive: bool
    probabilities: bool

    @field_validator("edges")
    @classmethod
    def _rise(cls, edges: list[int]) -> list[int]:
        check_edges(edges)
        return edges

    @property
    def draws(self) -> Resamples:
        """Number and seed of the resamples."""
        return Resamples(self.resamples, self.seed)

    def length_axis(self, rules: Iterable[WordRules]) -> str:
        """Return the axis title of the unit, for the rules of each test set."""
        side, _, counted = self.unit.partition("_")
        each = (rule.target if side == "reference" else rule.source for rule in rules)
        units = (rule.token_unit if counted == "tokens" else rule.unit for rule in each)
        return f"{side} length ({', '.join(dict.fromkeys(units))})"

    def bucket_name(self, bounds: Bounds) -> str:
        """Return the name of a length bucket for readers, such as ``11–20 words``."""
        side, _, counted = self.unit.partition("_")
        kind = counted if (side, counted) == ("source", "words") else f"{side} {counted}"
        return f"{bounds.label} {kind}"

    def buckets(self, tests: Sequence[EvalSet]) -> list[list[Bucket]]:
        """Return the length buckets of each test set; all test sets have the same edges.

        Raises ``ValueError`` if ``unit`` is a source length and a test set has no sources.
        """
        lengths = [sentence_lengths(test, self.unit) for test in tests]
        edges = self.edges
        if self.equal_buckets is not None:
            edges = equal_edges([length for each in lengths for length in each], self.equal_buckets)
        elif self.least_sentences:
            edges = merged_edges(lengths, edges, self.least_sentences)
        return [length_buckets(each, edges) for each in lengths]


PHRASE_TABLE = "phrase table"
COUNTED = {"bleu", "exact"}
"""Metrics of baselines. Others are left out: TER takes minutes for such translations."""


def baseline(
    name: str, test: EvalSet, hypotheses: Sequence[str], metrics: Iterable[Metric], label: str = ""
) -> System:
    """Return a baseline in the form of a system; of ``metrics``, those in ``COUNTED`` are counted.

    The seed of its output means nothing.
    """
    chosen = [each for each in metrics if isinstance(each, TextMetric) and each.name in COUNTED]
    statistics = translation_statistics(chosen, test, hypotheses)
    return System(name, test, [Output(0, hypotheses, statistics, chosen)], label)


def baselines_of_run(
    test: EvalSet,
    translations: Mapping[str, Sequence[str]],
    metrics: Sequence[Metric],
    buckets: Sequence[Bucket],
) -> dict[str, Baseline]:
    """Return the scores of translations without a model, by name.

    They have no intervals, so that nothing is resampled.
    """
    systems = [baseline(name, test, lines, metrics) for name, lines in translations.items()]
    return {
        each.name: Baseline(
            scores=_scores(each, np.arange(len(test.references))),
            by_length={bucket.bounds.label: _scores(each, bucket.index) for bucket in buckets},
        )
        for each in systems
    }


def _scores(system: System, index: NDArray[np.int64]) -> dict[str, float]:
    """Return the scores of a baseline on some sentences; none without sentences."""
    [output] = system.outputs
    return {
        metric.name: float(metric.score(output.statistics[metric.statistics][index].sum(0)))
        for metric in output.metrics
        if len(index)
    }
