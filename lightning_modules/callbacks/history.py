"""The course of a training, for learning curves."""

from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from datamodules.batching import Batch
from lightning_modules.callbacks.budget import budget_of
from lightning_modules.ranks.sharing import ends_update, gather
from lightning_modules.run_records import HistoryPoint, write_history

HISTORY = "history"
"""Key in a checkpoint."""


class History(pl.Callback):
    """Write ``history.csv`` into ``folder`` anew after each validation.

    The training loss is the mean over the target tokens since the validation before, with label
    smoothing as trained; tokens and seconds are those of ``TrainingBudget``, validation left out.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.points: list[HistoryPoint] = []
        self._loss = 0.0
        self._tokens = 0
        self._loss_of_update = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write what an earlier training came to, which may have been the end."""
        if self.points and trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Add to the mean loss, once all pieces of an update are there."""
        self._loss_of_update += float(outputs["loss"]) * batch.update_tokens
        if ends_update(trainer, batch_idx):
            self._loss += self._loss_of_update
            self._loss_of_update = 0.0
            self._tokens += batch.update_tokens

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add a point."""
        loss = sum(gather(trainer, self._loss)) / trainer.world_size
        budget = budget_of(trainer)
        point = HistoryPoint(
            target_tokens=budget.seen_tokens,
            seconds=round(budget.seconds, 3),
            train_loss=loss / self._tokens,
            val_loss=float(trainer.callback_metrics["val/loss"]),
            val_bleu=float(trainer.callback_metrics["val/bleu"]),
        )
        self._loss, self._tokens = 0.0, 0
        self.points.append(point)
        if trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Keep the points so far, and the sums of the next, of which each rank has its own."""
        checkpoint[HISTORY] = {
            "points": [point.model_dump() for point in self.points],
            "losses": gather(trainer, self._loss),
            "tokens": self._tokens,
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Go on after the points of an earlier training, perhaps on another number of ranks."""
        told = checkpoint[HISTORY]
        losses = told["losses"]
        self.points = [HistoryPoint(**point) for point in told["points"]]
        same = len(losses) == trainer.world_size
        self._loss = losses[trainer.global_rank] if same else sum(losses) / len(losses)
        self._tokens = told["tokens"]
