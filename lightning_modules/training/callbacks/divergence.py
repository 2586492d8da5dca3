"""Stop on a NaN or infinite loss."""

import logging
import math
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pydantic import validate_call

from datamodules.batching import Batch
from datamodules.errors import UserError
from lightning_modules.ranks.updates_across_ranks import ends_update, gather

log = logging.getLogger(__name__)

NOT_FINITE = "not_finite.ckpt"
SHOWN = 10
"""Number of sentence numbers in the error; the log lists all."""


class DivergedError(UserError):
    """A loss is NaN or infinite."""


class StopOnDivergence(pl.Callback):
    """Stop a training at the first NaN or infinite loss, and save its state in ``folder``."""

    @validate_call
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ids: list[int] = []
        self._loss = 0.0

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Check the loss of each piece; all ranks end together. Raises ``DivergedError``."""
        loss = float(outputs["loss"])  # the budget has waited for the device already
        if not math.isfinite(loss):
            self._ids += batch.ids.tolist()
            self._loss = loss
        if not ends_update(trainer, batch_idx):
            return
        if trainer.world_size > 1:
            broken = torch.tensor(float(bool(self._ids)), device=pl_module.device)
            if not trainer.strategy.reduce(broken, reduce_op="max"):
                return
        elif not self._ids:
            return
        by_rank = gather(trainer, (self._ids, self._loss))
        trainer.save_checkpoint(self.folder / NOT_FINITE)
        ids = [str(id) for rank_ids, _ in by_rank for id in rank_ids]
        loss = sum(loss for _, loss in by_rank)  # NaN or infinite; ranks with finite losses add 0
        log.error("sentences of the batch without a finite loss: %s", ", ".join(ids))
        more = f" and {len(ids) - SHOWN} more in the log" if len(ids) > SHOWN else ""
        number = batch_idx // trainer.accumulate_grad_batches + 1
        raise DivergedError(
            f"the training loss is {loss} at update {trainer.global_step}, batch {number} "
            f"of epoch {trainer.current_epoch + 1}, sentences {', '.join(ids[:SHOWN])}{more}; "
            f"{self.folder / NOT_FINITE} has the weights after it; lower optimizer.lr"
        )
