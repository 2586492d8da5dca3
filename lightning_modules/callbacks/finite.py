"""A training whose loss is no number any more."""

import logging
import math
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import validate_call

from datamodules.batching import Batch
from datamodules.errors import UserError

log = logging.getLogger(__name__)

NOT_FINITE = "not_finite.ckpt"
SHOWN = 10
"""Numbers of sentences in the error; the log has all."""


class DivergedError(UserError):
    """A loss that is no number."""


class FiniteLoss(pl.Callback):
    """End a training at the first loss that is no number, and keep its state in ``folder``."""

    @validate_call
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Look at the loss. Raises ``DivergedError``."""
        loss = float(outputs["loss"])  # the budget has waited for the device already
        if math.isfinite(loss):
            return
        trainer.save_checkpoint(self.folder / NOT_FINITE)
        ids = [str(id) for id in batch.ids.tolist()]
        log.error("sentences of the batch without a finite loss: %s", ", ".join(ids))
        more = f" and {len(ids) - SHOWN} more in the log" if len(ids) > SHOWN else ""
        raise DivergedError(
            f"the training loss is {loss} at update {trainer.global_step}, batch {batch_idx + 1} "
            f"of epoch {trainer.current_epoch + 1}, sentences {', '.join(ids[:SHOWN])}{more}; "
            f"{self.folder / NOT_FINITE} has the weights after it; lower optimizer.lr"
        )
