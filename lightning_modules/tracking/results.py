"""What a W&B run is told once the test set is translated."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import wandb
from pytorch_lightning.loggers import Logger

from lightning_modules.checkpoints import BEST, FOLDER, TOKENIZERS
from lightning_modules.heat_map import attention_map
from lightning_modules.metrics.sentences import readable
from lightning_modules.run_folder import PREDICTIONS, SentenceAttention
from lightning_modules.scoring import TestScores
from lightning_modules.testing import Tested
from lightning_modules.tracking.names import BY_LENGTH, LENGTH, STEP
from lightning_modules.tracking.tracker import Tracker

TABLE_ROWS = 100
PATIENCE_SECONDS = 1.5
"""For tables and artifacts, about which W&B asks the server at once."""
DECIMALS = 4
"""As ``bleu_by_length.csv`` has them."""


def log_test(logger: Logger | None, tested: Tested, folder: Path) -> None:
    """Log test scores, BLEU by length, a heat map, the first translations and, if asked, files."""
    if not isinstance(logger, Tracker):
        return
    scores = tested.scores
    logger.tell(lambda run: _log_scores(run, scores))
    if (sentence := _readable_attention(scores)) is not None:
        log_attention(logger, "attention/test", sentence)
    logger.tell(lambda run: run.log({"predictions": _table(scores)}), PATIENCE_SECONDS)
    if logger.artifacts:
        made: list[wandb.Artifact] = []  # copies of files, whose size nobody should be timed for
        logger.tell(lambda run: made.extend(_artifacts(str(run.id), folder)))
        for artifact in made:
            logger.tell(
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

    tracker.tell(log)


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
    shown = readable([str(line["source"]) for line in scores.predictions])
    weights = scores.attention[shown]
    if weights is None:
        return None
    return SentenceAttention(
        id=shown,
        source_words=scores.predictions[shown]["source"].split(),
        target_words=scores.predictions[shown]["hypothesis"].split(),
        weights=weights.tolist(),
    )


def _table(scores: TestScores) -> wandb.Table:
    columns: list[str | int] = ["id", "source", "reference", "hypothesis", "score"]
    rows = [[line[str(column)] for column in columns] for line in scores.predictions[:TABLE_ROWS]]
    return wandb.Table(columns=columns, data=rows)


def _artifacts(run_id: str, folder: Path) -> list[wandb.Artifact]:
    """Return what translating takes, laid out like the run's folder, and the predictions."""
    model = wandb.Artifact(f"model-{run_id}", type="model")
    model.add_file(str(folder / FOLDER / BEST), name=f"{FOLDER}/{BEST}")
    model.add_dir(str(folder / TOKENIZERS), name=TOKENIZERS)
    predictions = wandb.Artifact(f"predictions-{run_id}", type="predictions")
    predictions.add_file(str(folder / PREDICTIONS))
    return [model, predictions]
