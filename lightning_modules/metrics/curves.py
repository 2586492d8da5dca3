"""Scores against length, one row for each seed and bucket: what ``bleu_by_length.csv`` holds."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.resampling import Interval, Resamples, interval
from lightning_modules.metrics.scopes import Scope
from lightning_modules.metrics.statistics import METRICS, signatures
from lightning_modules.metrics.systems import System

FIRST_COLUMNS = ("variant", "seed", "length_low", "length_high", "sentences", "bleu")
ORIGIN = ("signature", "resamples", "resampling_seed")
OTHERS = [name for name in METRICS if name != "bleu"]


@dataclass(frozen=True)
class CurvePoint:
    """Scores of one output over the sentences of one bucket, each computed afresh over them."""

    variant: str
    seed: int
    bounds: Bounds
    sentences: int
    scores: dict[str, float]
    """By the names of metrics; empty for a bucket without sentences."""
    bleu_interval: Interval | None
    """95%, by bootstrap over the sentences; None for fewer than two."""

    @property
    def bleu(self) -> float | None:
        """None for a bucket without sentences."""
        return self.scores.get("bleu")


def curve_points(systems: Sequence[System], scopes: Sequence[Scope]) -> list[CurvePoint]:
    """Every seed of every system in every length bucket of ``scopes``."""
    return [
        _point(system, row, scope, scope.bounds)
        for system in systems
        for row in range(len(system.outputs))
        for scope in scopes
        if scope.bounds is not None
    ]


def _point(system: System, row: int, scope: Scope, bounds: Bounds) -> CurvePoint:
    scores = {
        metric: float(values[row])
        for (name, metric), values in scope.scores.items()
        if name == system.name and not np.isnan(values[row])
    }
    several = len(scope.index) > 1
    return CurvePoint(
        variant=system.name,
        seed=system.outputs[row].seed,
        bounds=bounds,
        sentences=len(scope.index),
        scores=scores,
        bleu_interval=interval(scope.resampled[system.name, "bleu"][row]) if several else None,
    )


def format_csv(points: Iterable[CurvePoint], resamples: Resamples) -> str:
    """Text of ``bleu_by_length.csv``; what is not known is left empty.

    Every row tells BLEU's signature, and the ``resamples`` of its interval.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*FIRST_COLUMNS, "bleu_low", "bleu_high", *OTHERS, *ORIGIN])
    origin = (signatures()["bleu"], resamples.count, resamples.seed)
    for point in points:
        low, high = point.bleu_interval or (None, None)
        scores = [point.bleu, low, high, *(point.scores.get(name) for name in OTHERS)]
        bounds = (point.bounds.low, point.bounds.high)
        written = (None if score is None else f"{score:.4f}" for score in scores)
        writer.writerow([point.variant, point.seed, *bounds, point.sentences, *written, *origin])
    return text.getvalue()
