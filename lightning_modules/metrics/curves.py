"""Rows of ``bleu_by_length.csv``: scores of each seed in each length bucket."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.statistics import METRICS, signatures
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import ScoredSubset
from lightning_modules.metrics.uncertainty.resampling import Interval, Resamples, interval

FIRST_COLUMNS = ("variant", "seed", "length_low", "length_high", "sentences", "bleu")
ORIGIN_COLUMNS = ("signature", "resamples", "resampling_seed")
OTHER_METRICS = [name for name in METRICS if name != "bleu"]


@dataclass(frozen=True)
class CurvePoint:
    """Scores of one output, computed on the sentences of one length bucket."""

    variant: str
    seed: int
    bounds: Bounds
    sentences: int
    scores: dict[str, float]
    """Scores by metric name; empty for a bucket without sentences."""
    bleu_interval: Interval | None
    """95% bootstrap interval over the sentences; None for fewer than two sentences."""

    @property
    def bleu(self) -> float | None:
        """BLEU, 0 to 100; None for a bucket without sentences."""
        return self.scores.get("bleu")


def curve_points(systems: Sequence[System], subsets: Sequence[ScoredSubset]) -> list[CurvePoint]:
    """Return a point for every seed of every system in every length bucket of ``subsets``."""
    return [
        _point(system, row, subset, subset.bounds)
        for system in systems
        for row in range(len(system.outputs))
        for subset in subsets
        if subset.bounds is not None
    ]


def _point(system: System, row: int, subset: ScoredSubset, bounds: Bounds) -> CurvePoint:
    scores = {
        metric: float(values[row])
        for (name, metric), values in subset.scores.items()
        if name == system.name and not np.isnan(values[row])
    }
    several = len(subset.index) > 1
    return CurvePoint(
        variant=system.name,
        seed=system.outputs[row].seed,
        bounds=bounds,
        sentences=len(subset.index),
        scores=scores,
        bleu_interval=interval(subset.resampled[system.name, "bleu"][row]) if several else None,
    )


def format_csv(points: Iterable[CurvePoint], resamples: Resamples) -> str:
    """Return the text of ``bleu_by_length.csv``; unknown scores are left empty.

    Every row has BLEU's signature, and the number and seed of the ``resamples`` of its interval.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*FIRST_COLUMNS, "bleu_low", "bleu_high", *OTHER_METRICS, *ORIGIN_COLUMNS])
    origin = (signatures()["bleu"], resamples.count, resamples.seed)
    for point in points:
        low, high = point.bleu_interval or (None, None)
        scores = [point.bleu, low, high, *(point.scores.get(name) for name in OTHER_METRICS)]
        bounds = (point.bounds.low, point.bounds.high)
        cells = (None if score is None else f"{score:.4f}" for score in scores)
        writer.writerow([point.variant, point.seed, *bounds, point.sentences, *cells, *origin])
    return text.getvalue()
