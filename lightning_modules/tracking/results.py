"""Give the test results to a tracker."""

from pathlib import Path

from lightning_modules.metrics.sentences import readable
from lightning_modules.runs.schema import Data, SentenceAttention
from lightning_modules.testing.scores import TestScores
from lightning_modules.testing.test_set import Tested
from lightning_modules.tracking.names import data_values
from lightning_modules.tracking.trackers.tracker import LengthPoint, Tracker

TABLE_ROWS = 100
COLUMNS = ("id", "source", "reference", "hypothesis", "score")
DECIMALS = 4
"""Decimals of BLEU, as in ``bleu_by_length.csv``."""


def log_test(tracker: Tracker | None, tested: Tested, data: Data, folder: Path, step: int) -> None:
    """Log scores, BLEU by length, a heat map, translations, corpus, warnings and, if asked, files.

    Args:
        tracker: the tracker of the run; None without one.
        tested: results on the test set.
        data: the corpus, and what looks wrong in it.
        folder: folder of the run.
        step: number of updates of the training.
    """
    if tracker is None:
        return
    scores = tested.scores
    curve = [
        LengthPoint(point.bounds, round(point.bleu, DECIMALS), point.sentences)
        for point in scores.curve
        if point.bleu is not None
    ]
    values: dict[str, float | str] = {
        **{f"test/{name}": estimate.value for name, estimate in scores.scores.items()},
        **{
            f"test/{name.replace(' ', '_')}/bleu": subset.scores["bleu"]
            for name, subset in scores.subsets.items()
        },
        **{f"bleu_at/{point.bounds.low:03d}": point.bleu for point in curve},
        **{
            f"baseline/{baseline.replace(' ', '_')}/{metric}": score
            for baseline, scored in scores.baselines.items()
            for metric, score in scored.scores.items()
        },
        **{
            f"contrast/{kind}/{group}": accuracy.value
            for kind, groups in tested.contrast.items()
            if kind != "distance"
            for group, accuracy in groups.items()
        },
        **data_values(data),
    }
    tracker.log_scores(values, step)
    tracker.log_curve(curve)
    if (sentence := _readable_attention(scores)) is not None:
        tracker.log_attention("attention/test", sentence)
    rows = [
        [getattr(line, column) for column in COLUMNS] for line in scores.predictions[:TABLE_ROWS]
    ]
    tracker.log_table("predictions", COLUMNS, rows)
    if warnings := [*data.suspicions, *map(str, scores.suspicions)]:
        tracker.log_table("warnings", ("warning",), [[warning] for warning in warnings])
    tracker.log_files(folder)


def _readable_attention(scores: TestScores) -> SentenceAttention | None:
    shown = readable([line.source for line in scores.predictions])
    weights = scores.attention[shown]
    return None if weights is None else SentenceAttention.of(scores.predictions[shown], weights)
