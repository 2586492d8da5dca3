"""A W&B run as a tracker and as Lightning's logger."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import wandb
from PIL import Image
from pydantic import PositiveFloat, validate_call
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only
from typing_extensions import override

from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Data, SentenceAttention
from lightning_modules.tracking.failsafe_run import FailsafeRun
from lightning_modules.tracking.mode import Mode
from lightning_modules.tracking.names import STEP, define_metrics
from lightning_modules.tracking.start import start_run
from lightning_modules.tracking.trackers.tracker import LengthPoint, Tracker
from lightning_modules.tracking.trackers.wandb_artifacts import inputs, outputs

PATIENCE_SECONDS = 4.0
"""Time limit of tables and artifacts, for which W&B calls the server at once."""
USE_SECONDS = 8.0
"""Time limit of an artifact that the run uses, which W&B first sends."""
CELL = 6
"""Side of the cell of one weight in a table's picture, in pixels."""


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
        artifacts: whether to keep the best checkpoint, the predictions, the tokenizers and the
            corpus's fingerprint as artifacts.
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
        self._pictures: dict[str, bytes] = {}
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
    def label(self, tags: Sequence[str], notes: str) -> None:
        def set_labels(run: wandb.Run) -> None:
            run.tags = tuple(dict.fromkeys([*(run.tags or ()), *tags]))
            run.notes = notes

        self.send(set_labels)

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

        when = "" if step is None else f" after {step} updates"
        words = " → ".join(map(" ".join, (sentence.source_words, sentence.target_words)))
        caption = f"sentence {sentence.id}{when}: {words}"

        def log(run: wandb.Run) -> None:
            with attention_picture(sentence) as file:
                content = file.read_bytes()
                if self._pictures.get(key) == content:  # a large file that shows nothing new
                    return
                self._pictures[key] = content
                at = {} if step is None else {STEP: step}
                run.log({key: wandb.Image(str(file), caption=caption), **at})

        self.send(log)

    @override
    def log_table(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        made: list[wandb.Table] = []  # drawing takes a while: no time limit
        self.send(lambda _: made.append(_table(columns, rows)))
        for table in made:
            self.send(partial(_log, row={key: table}), PATIENCE_SECONDS)

    @override
    def log_files(self, folder: Path, data: Data) -> None:
        """Keep files as artifacts.

        Where a server is reached, corpus and tokenizers are inputs of the run; W&B takes no inputs
        offline, where they are outputs too.
        """
        if not self.artifacts:
            return
        used: list[wandb.Artifact] = []  # copies of files take long: no time limit
        made: list[wandb.Artifact] = []
        self.send(lambda _: used.extend(inputs(folder, data)))
        self.send(lambda run: made.extend(outputs(str(run.id), folder, data)))
        if self.online:
            for artifact in used:
                self.send(partial(wandb.Run.use_artifact, artifact_or_name=artifact), USE_SECONDS)
        else:
            made = [*used, *made]
        for artifact in made:
            self.send(partial(wandb.Run.log_artifact, artifact_or_path=artifact), PATIENCE_SECONDS)


def _log(run: wandb.Run, row: dict[str, Any]) -> None:
    run.log(row)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> wandb.Table:
    data = [[_cell(value) for value in row] for row in rows]
    return wandb.Table(columns=list[str | int](columns), data=data)


def _cell(value: Any) -> Any:
    """Return a value for a table; weights (0 to 1) become a small picture, dark for 1."""
    if not isinstance(value, np.ndarray):
        return value
    grey = Image.fromarray((255 * (1 - value)).round().astype(np.uint8))
    rows, columns = value.shape
    return wandb.Image(grey.resize((CELL * columns, CELL * rows), Image.Resampling.NEAREST))
