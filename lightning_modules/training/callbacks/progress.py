"""Progress of a run and time left: a log line for each validation, a file for the terminal."""

import logging
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import NonNegativeInt, validate_call

from datamodules.batching import Batch
from lightning_modules.ranks.updates import UpdateCallback, gather
from lightning_modules.runs.files import write_history, write_state
from lightning_modules.runs.schema import TRAINING, VALIDATION, HistoryPoint, JobState
from lightning_modules.training.callbacks.budget import budget_of
from lightning_modules.training.losses import losses_of
from lightning_modules.training.module import TranslationModule

log = logging.getLogger(__name__)


HISTORY = "history"
"""Key of the history in a checkpoint."""


class History(UpdateCallback):
    """Rewrite ``history.csv`` in ``folder`` after each validation.

    The training loss is the mean over the target tokens since the previous validation, with label
    smoothing; ``TrainingBudget`` counts the tokens and seconds, validation left out.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.points: list[HistoryPoint] = []
        self._tokens = 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the points of an earlier training, which may have been complete."""
        if self.points and trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_update_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch
    ) -> None:
        """Count the tokens of an update."""
        self._tokens += batch.update_tokens

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add a point, and write the file."""
        loss = sum(self._totals(trainer, pl_module)) / trainer.world_size
        budget = budget_of(trainer)
        point = HistoryPoint(
            target_tokens=int(budget.cost["target_tokens"]),
            seconds=round(budget.cost["seconds"], 3),
            train_loss=loss / self._tokens,
            val_loss=float(trainer.callback_metrics["val/loss"]),
            val_bleu=float(trainer.callback_metrics["val/bleu"]),
        )
        losses_of(pl_module).total, self._tokens = 0.0, 0
        self.points.append(point)
        if trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the points so far, and the loss sum of each rank for the next point."""
        checkpoint[HISTORY] = {
            "points": [point.model_dump() for point in self.points],
            "losses": self._totals(trainer, pl_module),
            "tokens": self._tokens,
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore points and sums of an earlier training, maybe with another number of ranks."""
        saved = checkpoint[HISTORY]
        losses = saved["losses"]
        self.points = [HistoryPoint(**point) for point in saved["points"]]
        same_ranks = len(losses) == trainer.world_size
        own = losses[trainer.global_rank] if same_ranks else sum(losses) / len(losses)
        losses_of(pl_module).total, self._tokens = own, saved["tokens"]

    def _totals(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> list[float]:
        """Return the sum of the losses of each rank since the last point."""
        losses_of(pl_module).read()
        return gather(trainer, losses_of(pl_module).total)


EVERY_SECONDS = 1.0


class ProgressLines(pl.Callback):
    """Print share of the budget, losses, BLEU, speed and time left, prefixed by ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log that training begins."""
        parameters = sum(p.numel() for p in pl_module.parameters())
        log.info("%s  training, %s parameters", self.name, f"{parameters:,}")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log the line."""
        budget = budget_of(trainer)
        left = budget.seconds_left or 0.0
        metrics = trainer.callback_metrics
        log.info(
            "%s  %3.0f%%  %s tokens  loss %.3f  val loss %.3f  BLEU %5.2f  %s tokens/s  %s left",
            self.name,
            100 * budget.share,
            f"{budget.cost['target_tokens']:,}",
            mean_loss(trainer),
            float(metrics["val/loss"]),
            float(metrics["val/bleu"]),
            f"{budget.tokens_per_second:,.0f}",
            f"{left // 60:.0f}:{left % 60:02.0f}",
        )


def mean_loss(trainer: pl.Trainer) -> float:
    """Return the training loss since the validation before; NaN without ``History``."""
    histories = [c for c in trainer.callbacks if isinstance(c, History)]  # type: ignore[attr-defined]
    return histories[0].points[-1].train_loss if histories else float("nan")


class ProgressFile(pl.Callback):
    """Keep ``progress.json`` in ``folder`` up to date, in a training at most once a second.

    The terminal reads the file: the bar of a run, the table of a comparison or a study.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written = 0.0
        self._state = JobState(doing="")

    def enter(self, phase: str) -> None:
        """Write that a phase begins, such as ``scoring``."""
        self._write(doing=phase)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that training begins."""
        self._write(**_trained(trainer), doing=TRAINING)

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: object) -> None:
        """Write the progress."""
        if self._is_due:
            self._write(**_trained(trainer), seconds_left=budget_of(trainer).seconds_left)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that the training waits for a validation."""
        self._write(**_trained(trainer), doing=VALIDATION)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the new BLEU."""
        left = budget_of(trainer).seconds_left
        bleu = float(trainer.callback_metrics["val/bleu"])
        self._write(doing=TRAINING, val_bleu=bleu, seconds_left=left)

    def on_predict_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, *_: Any
    ) -> None:
        """Write how many batches of the phase are done."""
        if self._is_due:
            phase = self._state.doing.partition(",")[0]
            share = (batch_idx + 1) / trainer.num_predict_batches[0]
            self._write(doing=f"{phase}, {share:.0%}")

    @property
    def _is_due(self) -> bool:
        return time.perf_counter() - self._written >= EVERY_SECONDS

    def _write(self, **changes: Any) -> None:
        self._written = time.perf_counter()
        self._state = self._state.model_copy(update=changes)
        write_state(self.folder, self._state)


def _trained(trainer: pl.Trainer) -> dict[str, Any]:
    budget = budget_of(trainer)
    return {
        "updates": trainer.global_step,
        "share": budget.share,
        "tokens_per_second": budget.tokens_per_second,
    }


def enter_phase(trainer: pl.Trainer, phase: str) -> None:
    """Let the trainer's progress file, if the trainer has one, say that a phase begins."""
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, ProgressFile):
            callback.enter(phase)


class ExampleTranslations(pl.Callback):
    """At each validation, print source, reference and hypothesis of the same ``count`` sentences.

    The examples are spread over the validation sentences, short and long.
    """

    @validate_call
    def __init__(self, count: NonNegativeInt) -> None:
        self.count = count

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the examples."""
        if not trainer.is_global_zero:
            return
        assert isinstance(pl_module, TranslationModule)
        text = trainer.datamodule.text("val")  # type: ignore[attr-defined]
        ids = sorted(pl_module.validated)
        for number in range(min(self.count, len(ids))):
            chosen = ids[(2 * number + 1) * len(ids) // (2 * self.count)]
            log.info("  source      %s", text.source[chosen])
            log.info("  reference   %s", text.target[chosen])
            log.info("  hypothesis  %s", pl_module.validated[chosen])
