"""A W&B run as Lightning's logger, which gets all that the harness knows of a training."""

from collections.abc import Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import wandb
from PIL import Image
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only
from typing_extensions import override

from lightning_modules.runs.paths import BEST, CHECKPOINTS, PREDICTIONS, TOKENIZERS
from lightning_modules.runs.schema import Data, SentenceAttention
from lightning_modules.tracking.names import PAGE, PICTURES, STEP
from lightning_modules.tracking.run_page import RunPage
from lightning_modules.tracking.trackers import Tracker
from lightning_modules.tracking.wandb_run import FailsafeRun

SEND_SECONDS = 4.0
"""Time limit of a table or an artifact of a training, for which W&B calls the server at once."""
USE_SECONDS = 8.0  # time limit of an artifact that the run uses, which W&B first sends
CELL = 6  # side of the cell of one weight in a table's picture, in pixels
ABOUT_CORPUS = {"name", "source", "target", "fingerprint", "pairs", "vocabulary"}
"""Fields of a corpus in its artifact; the text itself is never sent."""
INPUTS = ("dataset", "tokenizers")  # types of the artifacts that a run was made from


class FailsafeWandbLogger(WandbLogger, Tracker):
    """The logger of ``conf/logger/wandb.yaml``, which explains the arguments.

    ``more`` are those of ``FailsafeRun``. Raises ``UserError`` if no run can be started.
    """

    def __init__(self, project: str, save_dir: str, artifacts: bool, **more: Any) -> None:
        self._tracked = FailsafeRun(project=project, save_dir=save_dir, **more)
        self.send = self._tracked.send
        WandbLogger.__init__(self, project=project, save_dir=save_dir, experiment=self._tracked.run)
        self.artifacts = artifacts
        self._pictures: dict[str, Image.Image] = {}

    @override
    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log a row of history; the step is a metric, since W&B's own counts rows."""
        self.send(lambda _: WandbLogger.log_metrics(self, metrics, step))

    @override
    @rank_zero_only
    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        self.send(lambda _: WandbLogger.log_hyperparams(self, params))

    @property
    @override
    def takes_pictures(self) -> bool:
        return True

    @override
    def label(self, tags: Sequence[str], notes: str | None) -> None:
        self._tracked.label(tags, notes)

    @override
    def log_scores(self, scores: Mapping[str, float | str], step: int) -> None:
        self._tracked.log_scores(scores)

    @override
    def log_curve(self, rows: Sequence[Mapping[str, float]]) -> None:
        for row in rows:
            self.log_metrics(row)

    @override
    def log_attention(self, key: str, sentence: SentenceAttention, step: int | None = None) -> None:
        from lightning_modules.figures.heat_map import attention_picture  # slow to import

        when = "" if step is None else f" after {step} updates"
        words = " → ".join(map(" ".join, (sentence.source_words, sentence.target_words)))
        caption = f"sentence {sentence.id}{when}: {words}"

        def log_picture(run: wandb.Run) -> None:
            picture = attention_picture(sentence)
            if self._pictures.get(key) != picture:  # else a large file that shows nothing new
                self._pictures[key] = picture
                at = {} if step is None else {STEP: step}
                run.log({key: wandb.Image(picture, caption=caption), **at})

        self.send(log_picture)

    @override
    def log_rows(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        def made(_: wandb.Run) -> wandb.Table:
            data = [[_cell(value) for value in row] for row in rows]
            return wandb.Table(columns=list[str | int](columns), data=data)

        table = self.send(made)  # drawing takes a while: no time limit
        if table is not None:
            self.send(lambda run: run.log({key: table}), SEND_SECONDS)

    @override
    def log_files(self, folder: Path, data: Data) -> None:
        """Keep files as artifacts: corpus and tokenizers as inputs of the run, or, offline, where
        W&B takes no inputs, as outputs."""
        if not self.artifacts:
            return
        # Copies of files take long: no time limit.
        made = self.send(lambda run: _artifacts(str(run.id), folder, data)) or []
        for artifact in made:
            if self._tracked.online and artifact.type in INPUTS:
                self.send(partial(wandb.Run.use_artifact, artifact_or_name=artifact), USE_SECONDS)
            else:
                self.send(partial(wandb.Run.log_artifact, artifact_or_path=artifact), SEND_SECONDS)

    @override
    def log_page(self, page: RunPage) -> None:
        if not self._tracked.recording:
            return
        pictures = page.draw()

        def log_all(run: wandb.Run) -> None:
            logged: dict[str, Any] = {PAGE: wandb.Html(page.html, inject=False)}
            for name, (png, caption) in pictures.items():
                with Image.open(BytesIO(png)) as picture:
                    logged[f"{PICTURES}/{name}"] = wandb.Image(picture, caption=caption)
            run.log(logged)

        self.send(log_all, SEND_SECONDS)

    @override
    def close(self, error: BaseException | None = None) -> None:
        self._tracked.close(error)


def _artifacts(run_id: str, folder: Path, data: Data) -> list[wandb.Artifact]:
    """Return what the run was made from and what it made; runs on a corpus share the former.

    These are the corpus, by its fingerprint and without its text, the tokenizers, the files for
    translating, laid out like the run's folder, and the predictions.
    """
    about = data.model_dump(include=ABOUT_CORPUS)
    corpus = wandb.Artifact(f"corpus-{data.fingerprint}", type="dataset", metadata=about)
    with corpus.new_file("corpus.json") as file:
        file.write(data.model_dump_json(include=ABOUT_CORPUS, indent=1))
    tokenizers = wandb.Artifact(f"tokenizers-{data.fingerprint}", type="tokenizers", metadata=about)
    tokenizers.add_dir(str(folder / TOKENIZERS))
    about = {"corpus": data.name, "data_fingerprint": data.fingerprint}
    model = wandb.Artifact(f"model-{run_id}", type="model", metadata=about)
    model.add_file(str(folder / CHECKPOINTS / BEST), name=f"{CHECKPOINTS}/{BEST}")
    model.add_dir(str(folder / TOKENIZERS), name=TOKENIZERS)
    predictions = wandb.Artifact(f"predictions-{run_id}", type="predictions", metadata=about)
    predictions.add_file(str(folder / PREDICTIONS))
    return [corpus, tokenizers, model, predictions]


def _cell(value: Any) -> Any:
    """Return a value for a table; weights (0 to 1) become a small picture, dark for 1."""
    if not isinstance(value, np.ndarray):
        return value
    grey = Image.fromarray((255 * (1 - value)).round().astype(np.uint8))
    rows, columns = value.shape
    return wandb.Image(grey.resize((CELL * columns, CELL * rows), Image.Resampling.NEAREST))
