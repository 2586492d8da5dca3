"""Points of learning curves: one for each validation."""

from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from datamodules.batching import Batch
from lightning_modules.ranks.updates_across_ranks import ends_update, gather
from lightning_modules.runs.schema import HistoryPoint
from lightning_modules.runs.writer import write_history
from lightning_modules.training.callbacks.budget import budget_of
from lightning_modules.training.losses import losses_of

HISTORY = "history"
"""Key of the history in a checkpoint."""


class History(pl.Callback):
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

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Count the tokens of an update after its last piece."""
        if ends_update(trainer, batch_idx):
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
        losses_of(pl_module).read(trainer.global_step)
        return gather(trainer, losses_of(pl_module).total)
