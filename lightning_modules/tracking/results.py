"""Log the test results to a W&B run."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import wandb
from pytorch_lightning.loggers import Logger

from lightning_modules.figures.heat_map import attention_map
from lightning_modules.metrics.sentences import readable
from lightning_modules.runs.schema import PREDICTIONS, SentenceAttention
from lightning_modules.testing.scores import TestScores
from lightning_modules.testing.test_set import Tested
from lightning_modules.tracking.names import BY_LENGTH, LENGTH, STEP
from lightning_modules.tracking.tracker import Tracker
from lightning_modules.training.checkpoints import BEST, FOLDER, TOKENIZERS

TABLE_ROWS = 100
PATIENCE_SECONDS = 1.5
"""Time limit of tables and artifacts, for which W&B calls the server at once."""
DECIMALS = 4
"""Decimals of BLEU, as in ``bleu_by_length.csv``."""


def log_test(logger: Logger | None, tested: Tested, folder: Path) -> None:
    """Log test scores, BLEU by length, a heat map, the first translations and, if asked, files."""
    if not isinstance(logger, Tracker):
        return
    scores = tested.scores
    logger.send(lambda run: _log_scores(run, scores))
    if (sentence := _readable_attention(scores)) is not None:
        log_attention(logger, "attention/test", sentence)
    logger.send(lambda run: run.log({"predictions": _table(scores)}), PATIENCE_SECONDS)
    if logger.artifacts:
        made: list[wandb.Artifact] = []  # copies of files take long: no time limit
        logger.send(lambda run: made.extend(_artifacts(str(run.id), folder)))
        for artifact in made:
            logger.send(
                partial(wandb.Run.log_artifact, artifact_or_path=artifact), PATIENCE_SECONDS
            )


def log_attention(
    tracker: Tracker, key: str, sentence: SentenceAttention, step: int | None = None
) -> None:
    """Log the heat map of a sentence as a picture."""

    def log(run: wandb.Run) -> None:
        with TemporaryDirectory() as folder:
            picture = Path(folder) / "attention.png"
            attention_map(sentence).save(str(picture), scale_factor=2)
            at = {} if step is None else {STEP: step}
            run.log({key: wandb.Image(str(picture)), **at})

    tracker.send(log)


def _log_scores(run: wandb.Run, scores: TestScores) -> None:
    for name, estimate in scores.scores.items():
        run.summary[f"test/{name}"] = estimate.value
    for point in scores.curve:
        if point.bleu is not None:
            bleu = round(point.bleu, DECIMALS)
            values = dict(zip(BY_LENGTH, (bleu, point.sentences), strict=True))
            run.log({LENGTH: point.bounds.high or point.bounds.low, **values})
            run.summary[f"bleu_at/{point.bounds.low:03d}"] = bleu


def _readable_attention(scores: TestScores) -> SentenceAttention | None:
    shown = readable([line.source for line in scores.predictions])
    weights = scores.attention[shown]
    if weights is None:
        return None
    return SentenceAttention(
        id=shown,
        source_words=scores.predictions[shown].source.split(),
        target_words=scores.predictions[shown].hypothesis.split(),
        weights=weights.tolist(),
    )


def _table(scores: TestScores) -> wandb.Table:
    columns: list[str | int] = ["id", "source", "reference", "hypothesis", "score"]
    rows = [
        [getattr(line, str(column)) for column in columns]
        for line in scores.predictions[:TABLE_ROWS]
    ]
    return wandb.Table(columns=columns, data=rows)


def _artifacts(run_id: str, folder: Path) -> list[wandb.Artifact]:
    """Return the files for translating, laid out like the run's folder, and the predictions."""
    model = wandb.Artifact(f"model-{run_id}", type="model")
    model.add_file(str(folder / FOLDER / BEST), name=f"{FOLDER}/{BEST}")
    model.add_dir(str(folder / TOKENIZERS), name=TOKENIZERS)
    predictions = wandb.Artifact(f"predictions-{run_id}", type="predictions")
    predictions.add_file(str(folder / PREDICTIONS))
    return [model, predictions]
