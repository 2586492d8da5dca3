"""What a run gives its tracker: a heat map at each validation, and the test results.

The curves come from ``self.log`` in ``training/module.py`` and ``training/callbacks.py``, the
configuration from ``trackers.py``; docs/how_to/tracking.md lists everything.
"""

from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.failures import SHARES, kind_counts, translation_kinds
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.sentences import most_readable
from lightning_modules.metrics.words import WordRule
from lightning_modules.ranks.updates import callback_of
from lightning_modules.runs.files import RunScores
from lightning_modules.runs.schema import SentenceAttention
from lightning_modules.testing.alarms import in_a_line
from lightning_modules.testing.scoring import Scoring
from lightning_modules.testing.validation_attention import ValidationAttention
from lightning_modules.tracking.names import BY_LENGTH, LENGTH, data_values, with_interval
from lightning_modules.tracking.trackers import Tracker
from lightning_modules.training.callbacks import History
from lightning_modules.training.validations import VAL_BLEU, VAL_LOSS

TABLE_ROWS = 100
TABLE_MAPS = 20  # number of rows with attention, since W&B keeps each as a file
COLUMNS = ("id", "length", "source", "reference", "hypothesis", "score")
"""The length is the number of source words."""
ATTENTION = "attention"
"""A further column of models with attention: rows of target words, columns of source words."""
DECIMALS = 4  # decimals of BLEU, as in `bleu_by_length.csv`


class AttentionMaps(pl.Callback):
    """At each validation, log a heat map of the first sentence of ``ValidationAttention``.

    List this callback after that one. A model without attention logs nothing.
    """

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw and log the heat map."""
        history = callback_of(trainer, ValidationAttention).history
        if history is not None:
            newest = history.sentences[0].at(-1)
            self.tracker.log_attention("attention/validation", newest, trainer.global_step)


class EarlierValidations(pl.Callback):
    """Log the validations of the run that a training continues, so that its curves are whole."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log each at the number of its updates."""
        for history in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(history, History):
                for update, point in zip(history.updates, history.points, strict=True):
                    numbers = {
                        "train/target_tokens": float(point.target_tokens),
                        VAL_LOSS: point.val_loss,
                        VAL_BLEU: point.val_bleu,
                    }
                    for logger in trainer.loggers:
                        logger.log_metrics(numbers, update)


def log_test(
    tracker: Tracker | None, run: RunScores, scoring: Scoring, folder: Path, step: int
) -> None:
    """Log scores, BLEU by length, a heat map, translations, corpus, warnings and, if asked, files.

    ``scoring`` names the length buckets; ``step`` is the number of updates of the training.
    """
    if tracker is None:
        return
    convergence = run.result.training.convergence
    learned: dict[str, float | str] = {
        f"learning/{name}": value
        for name, value in convergence.model_dump(exclude_none=True).items()
    }
    if convergence.sentence is not None:
        learned["learning/verdict"] = convergence.sentence
    scores = {**_test_scores(run, scoring), **_failure_shares(run, scoring)}
    tracker.log_scores({**scores, **data_values(run.result.data), **learned}, step)
    tracker.log_curve(
        [
            {
                LENGTH: point.bounds.high or point.bounds.low,
                BY_LENGTH[0]: round(point.bleu, DECIMALS),
                BY_LENGTH[1]: point.sentences,
            }
            for point in run.curve
            if point.bleu is not None
        ]
    )
    rule = scoring.rules(run.result.data.source, run.result.data.target).source
    shown = most_readable([line.source for line in run.predictions], rule)
    if (weights := run.attention[shown]) is not None:
        sentence = SentenceAttention.of(run.predictions[shown], weights)
        tracker.log_attention("attention/test", sentence)
    tracker.log_rows("predictions", *_predictions(run, rule))
    alarms = [in_a_line(alarm) for alarm in run.result.alarms]
    if warnings := [*alarms, *run.result.all_suspicions]:
        tracker.log_rows("warnings", ("warning",), [[warning] for warning in warnings])
    tracker.log_files(folder, run.result.data)


def _test_scores(run: RunScores, scoring: Scoring) -> dict[str, float]:
    """Return every score on the whole test set, on each length bucket, and on parts of the set."""
    result, unknown = run.result, (None, None)
    values: dict[str, float] = {}
    for name, value in result.scores.items():
        ends = result.intervals.get(name, unknown)
        values |= with_interval(f"test/{name}", Estimate(value, *ends))
    for point in run.curve:
        bucket = scoring.bucket_name(point.bounds)
        for name, value in point.scores.items():
            ends = point.bleu_interval if name == "bleu" and point.bleu_interval else unknown
            values |= with_interval(f"test/{name}", Estimate(value, *ends), bucket)
    for name, subset in result.subsets.items():
        values[f"test/{name.replace(' ', '_')}/bleu"] = subset.scores["bleu"]
    for name, baseline in result.baselines.items():
        for metric, score in baseline.scores.items():
            values[f"baseline/{name.replace(' ', '_')}/{metric}"] = score
    for kind, groups in result.contrast.items():
        if kind != "distance":
            values |= {f"contrast/{kind}/{group}": each.value for group, each in groups.items()}
    return values


def _failure_shares(run: RunScores, scoring: Scoring) -> dict[str, float]:
    """Return the percentage of the translations of each kind; see ``metrics.failures``."""
    lines, data = run.predictions, run.result.data
    further = [line.further_references for line in lines]
    text = ReferenceText(
        [line.reference for line in lines],
        [line.source for line in lines],
        further if any(further) else (),
        scoring.rules(data.source, data.target),
    )
    counts = kind_counts(translation_kinds(text, [line.hypothesis for line in lines])).sum(0)
    return {f"failures/{share.name}": float(share.score(counts)) for share in SHARES.values()}


def _predictions(run: RunScores, rule: WordRule) -> tuple[list[str], list[list[Any]]]:
    """Return columns and rows of the table of translations."""
    rows: list[list[Any]] = [
        [
            line.id,
            len(rule.words(line.source)),
            line.source,
            line.reference,
            line.hypothesis,
            line.score,
        ]
        for line in run.predictions[:TABLE_ROWS]
    ]
    weights = [each if row < TABLE_MAPS else None for row, each in enumerate(run.attention)]
    if all(each is None for each in weights):
        return list(COLUMNS), rows
    return [*COLUMNS, ATTENTION], [[*row, each] for row, each in zip(rows, weights, strict=False)]
