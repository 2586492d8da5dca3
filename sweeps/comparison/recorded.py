"""A finished run as an evaluation: recorded scores and intervals, nothing drawn again."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset
from lightning_modules.metrics.chosen_metrics import in_order
from lightning_modules.metrics.systems import System
from lightning_modules.runs.schema import Result
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.outputs import RunOutput

Estimates = Mapping[tuple[str, str], Estimate]  # by the names of system and metric
Named = tuple[tuple[str, str], Estimate]


@dataclass(frozen=True, eq=False)
class RecordedSubset(ScoredSubset):
    """Scores of a run and of its baselines on a subset of the test sentences."""

    estimates: Estimates = field(default_factory=dict)

    def estimate(self, system: str, metric: str) -> Estimate | None:
        """Return a recorded score, with its interval if that is known; None without a score."""
        return self.estimates.get((system, metric))


def recorded_evaluation(run: RunOutput, scoring: Scoring, curve: str) -> Evaluation:
    """Return what a run has recorded; ``curve`` is the text of its ``bleu_by_length.csv``.

    ``scoring`` are the run's own settings, so that its buckets are those of the file.
    """
    result, test, draws = run.result, run.test, scoring.draws
    metrics = [each for each in in_order(run.output.metrics) if each.name in result.scores]
    rows = {row["length_low"]: row for row in csv.DictReader(io.StringIO(curve))}
    [buckets] = scoring.buckets([test])
    whole = np.arange(len(test.references))
    subsets: list[ScoredSubset] = [
        RecordedSubset(None, whole, draws, {}, {}, dict(_whole(run.name, result)))
    ]
    for bucket in buckets:
        row = rows.get(str(bucket.bounds.low), {})
        found = {
            **dict(_of_row(run.name, [metric.name for metric in metrics], row)),
            **dict(_of_baselines(result, bucket.bounds.label)),
        }
        subsets.append(RecordedSubset(bucket.bounds, bucket.index, draws, {}, {}, found))
    system = System(run.name, test, [run.output], run.label)
    baselines = [System(name, test, []) for name in result.baselines]
    group = EvalGroup([system], buckets, subsets, baselines)
    return Evaluation([system], [group], scoring, draws, metrics)


def _whole(system: str, result: Result) -> Iterator[Named]:
    for metric, score in result.scores.items():
        low, high = result.intervals.get(metric, (None, None))
        yield (system, metric), Estimate(score, low, high, seeds=(score,))
    for name, baseline in result.baselines.items():
        yield from (((name, metric), Estimate(each)) for metric, each in baseline.scores.items())


def _of_row(system: str, metrics: list[str], row: Mapping[str, str]) -> Iterator[Named]:
    """Yield the scores in a row of the curve; an empty cell is no score."""
    for metric in metrics:
        value, low, high = (_number(row.get(f"{metric}{end}")) for end in ("", "_low", "_high"))
        if value is not None:
            yield (system, metric), Estimate(value, low, high, seeds=(value,))


def _number(cell: str | None) -> float | None:
    return float(cell) if cell else None


def _of_baselines(result: Result, lengths: str) -> Iterator[Named]:
    for name, baseline in result.baselines.items():
        for metric, score in baseline.by_length.get(lengths, {}).items():
            yield (name, metric), Estimate(score)
