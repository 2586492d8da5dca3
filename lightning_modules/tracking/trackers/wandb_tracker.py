"""A W&B run as a tracker and as Lightning's logger."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import wandb
from pydantic import PositiveFloat, validate_call
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only
from typing_extensions import override

from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import PREDICTIONS, SentenceAttention
from lightning_modules.tracking.failsafe_run import FailsafeRun
from lightning_modules.tracking.mode import Mode
from lightning_modules.tracking.names import STEP, define_metrics
from lightning_modules.tracking.start import start_run
from lightning_modules.tracking.trackers.tracker import LengthPoint, Tracker
from lightning_modules.training.checkpoints import BEST, FOLDER, TOKENIZERS

PATIENCE_SECONDS = 1.5
"""Time limit of tables and artifacts, for which W&B calls the server at once."""


class WandbTracker(FailsafeRun, Logger, Tracker):
    """The W&B run of a training; see ``start_run``, which raises ``UserError``.

    Args:
        project: the project.
        name: name of the run.
        group: group of the run.
        tags: tags of the run.
        save_dir: folder under which W&B writes everything.
        folder: folder of the training.
        mode: online, offline, or chosen by a probe.
        artifacts: whether to keep the best checkpoint and the predictions as artifacts.
        finish_seconds: time limit for the end of the run.
        job_type: kind of the run.
    """

    @validate_call
    def __init__(
        self,
        project: str,
        name: str,
        group: str,
        tags: list[str],
        save_dir: Path,
        folder: Path,
        mode: Mode = "auto",
        artifacts: bool = False,
        finish_seconds: PositiveFloat = 4.0,
        job_type: str = "train",
    ) -> None:
        labels = {"project": project, "name": name, "group": group, "tags": tags}
        given = {"job_type": job_type, **redacted(labels)}
        run = start_run(save_dir, folder, mode, finish_seconds, **given)
        Logger.__init__(self)
        FailsafeRun.__init__(self, run)
        self.artifacts = artifacts
        self.send(define_metrics)

    @property
    @override
    def name(self) -> str:
        """The project, which Lightning calls the name."""
        return self.project

    @property
    @override
    def version(self) -> str:
        """The run's id."""
        return self.id

    @property
    @override
    def takes_pictures(self) -> bool:
        return True

    @override
    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log a row of history; the step is a metric, since W&B's own counts rows."""
        row = dict(metrics) if step is None else {**metrics, STEP: step}
        self.send(lambda run: run.log(row))

    @override
    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Add to the run's configuration."""
        self.describe(vars(params) if isinstance(params, Namespace) else params)

    @override
    def log_scores(self, scores: Mapping[str, float | str], step: int) -> None:
        """Write the scores into the summary, by which tables of runs are sorted."""
        self.send(lambda run: run.summary.update(dict(scores)))

    @override
    def log_curve(self, curve: Sequence[LengthPoint]) -> None:
        """Log a row of history for each point."""
        for point in curve:
            self.log_metrics(point.row)

    @override
    def log_attention(self, key: str, sentence: SentenceAttention, step: int | None = None) -> None:
        from lightning_modules.figures.heat_map import attention_picture  # slow to import

        def log(run: wandb.Run) -> None:
            with attention_picture(sentence) as file:
                at = {} if step is None else {STEP: step}
                run.log({key: wandb.Image(str(file)), **at})

        self.send(log)

    @override
    def log_table(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        names: list[str | int] = list(columns)
        data = [list(row) for row in rows]
        self.send(
            lambda run: run.log({key: wandb.Table(columns=names, data=data)}), PATIENCE_SECONDS
        )

    @override
    def log_files(self, folder: Path) -> None:
        if not self.artifacts:
            return
        made: list[wandb.Artifact] = []  # copies of files take long: no time limit
        self.send(lambda run: made.extend(_artifacts(str(run.id), folder)))
        for artifact in made:
            self.send(partial(wandb.Run.log_artifact, artifact_or_path=artifact), PATIENCE_SECONDS)


def _artifacts(run_id: str, folder: Path) -> list[wandb.Artifact]:
    """Return the files for translating, laid out like the run's folder, and the predictions."""
    model = wandb.Artifact(f"model-{run_id}", type="model")
    model.add_file(str(folder / FOLDER / BEST), name=f"{FOLDER}/{BEST}")
    model.add_dir(str(folder / TOKENIZERS), name=TOKENIZERS)
    predictions = wandb.Artifact(f"predictions-{run_id}", type="predictions")
    predictions.add_file(str(folder / PREDICTIONS))
    return [model, predictions]
