"""Rows of ``bleu_by_length.csv``: scores of each seed in each length bucket."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodules.files import as_cell
from lightning_modules.metrics.bootstrap import ScoredSubset
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.resampling import Interval, Resamples, interval
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.text_metrics import Bleu


@dataclass(frozen=True)
class CurvePoint:
    """Scores of one output, computed on the sentences of one length bucket."""

    variant: str
    seed: int
    bounds: Bounds
    sentences: int
    scores: dict[str, float]  # scores by metric name; empty for a bucket without sentences
    bleu_interval: Interval | None
    """95% bootstrap interval over the sentences; None for fewer than two sentences."""
    signature: str  # of BLEU

    @property
    def bleu(self) -> float | None:
        """BLEU, 0 to 100; None for a bucket without sentences."""
        return self.scores.get("bleu")


def curve_points(systems: Sequence[System], subsets: Sequence[ScoredSubset]) -> list[CurvePoint]:
    """Return a point for every seed of every system in every length bucket of ``subsets``."""
    return [
        CurvePoint(
            variant=system.name,
            seed=output.seed,
            bounds=subset.bounds,
            sentences=len(subset.index),
            scores={
                metric: float(values[row])
                for (name, metric), values in subset.scores.items()
                if name == system.name and not np.isnan(values[row])
            },
            bleu_interval=interval(subset.resampled[system.name, "bleu"][row])
            if len(subset.index) > 1
            else None,
            signature=Bleu().signature_on(system.test),
        )
        for system in systems
        for row, output in enumerate(system.outputs)
        for subset in subsets
        if subset.bounds is not None
    ]


def format_csv(points: Sequence[CurvePoint], resamples: Resamples) -> str:
    """Return the text of ``bleu_by_length.csv``; unknown scores are left empty.

    The columns of a user's metrics come after those of the harness. Every row has BLEU's signature,
    and the number and seed of the ``resamples`` of its interval.
    """
    scored = dict.fromkeys(name for point in points for name in point.scores)
    names = [name for name in dict.fromkeys([*METRICS, *scored]) if name != "bleu"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    first = ("variant", "seed", "length_low", "length_high", "sentences")
    scores = ("bleu", "bleu_low", "bleu_high", *names)
    writer.writerow([*first, *scores, "signature", "resamples", "resampling_seed"])
    for point in points:
        low, high = point.bleu_interval or (None, None)
        known = [point.bleu, low, high, *(point.scores.get(name) for name in names)]
        bounds = (point.bounds.low, point.bounds.high)
        cells = ("" if score is None else f"{score:.4f}" for score in known)
        place = (as_cell(point.variant), point.seed, *bounds, point.sentences)
        origin = (point.signature, resamples.count, resamples.seed)
        writer.writerow([*place, *cells, *origin])
    return text.getvalue()
