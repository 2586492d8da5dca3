"""Stop on NaN or infinite losses or weights."""

import logging
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import validate_call

from datamodules.batching import Batch
from datamodules.errors import UserError
from lightning_modules.kernels.device import runs_ahead
from lightning_modules.ranks.rank_flags import flags_of
from lightning_modules.ranks.updates_across_ranks import ends_update, gather
from lightning_modules.training.losses import BrokenLoss, are_finite, losses_of

log = logging.getLogger(__name__)

NOT_FINITE = "not_finite.ckpt"
SHOWN = 10
"""Number of sentence numbers in the error; the log lists all."""


class DivergedError(UserError):
    """A loss or a weight is NaN or infinite."""


class StopOnDivergence(pl.Callback):
    """Stop a training with a NaN or infinite loss, and save its state in ``folder``.

    Losses are looked at after every update on a CPU, and every ``log_every_n_steps`` updates on a
    GPU, which would wait otherwise. Before a checkpoint is written, the weights are looked at too:
    checkpoints hold finite weights only, besides the state that this callback saves.
    """

    @validate_call
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._saving = False

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks end when any rank finds such a loss."""
        flags_of(trainer).add("diverged", lambda: bool(losses_of(pl_module).broken))

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """End on a loss that any rank has found. Raises ``DivergedError``."""
        if flags_of(trainer)["diverged"]:
            self._check(trainer, pl_module)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Read the losses if it is time. Raises ``DivergedError`` in a training of one rank."""
        every: int = trainer.log_every_n_steps if runs_ahead(pl_module.device) else 1  # type: ignore[attr-defined]
        if ends_update(trainer, batch_idx) and trainer.global_step % every == 0:
            losses_of(pl_module).read(trainer.global_step)
            if trainer.world_size == 1 and losses_of(pl_module).broken:
                self._check(trainer, pl_module)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Look at losses and weights before the file is written. Raises ``DivergedError``."""
        if not self._saving:
            self._check(trainer, pl_module)

    def _check(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Raise ``DivergedError`` on all ranks if any rank has a loss or weight that is broken."""
        losses = losses_of(pl_module)
        losses.read(trainer.global_step)
        finite = are_finite(pl_module.parameters())
        parts = gather(trainer, (losses.broken, finite))
        broken = [loss for found, _ in parts for loss in found]
        if not broken and all(finite for _, finite in parts):
            return
        self._saving = True
        trainer.save_checkpoint(self.folder / NOT_FINITE)
        kept = f"{self.folder / NOT_FINITE} has the weights after it; lower optimizer.lr"
        if not broken:
            number = trainer.global_step
            raise DivergedError(f"weights are NaN or infinite at update {number}; {kept}")
        raise DivergedError(f"{_described(broken, _updates_of_epoch(trainer))}; {kept}")


def _described(broken: list[BrokenLoss], updates_of_epoch: int) -> str:
    """Return what the first update with a broken loss was; the log gets all of its sentences."""
    update = min(loss.update for loss in broken)
    first = [loss for loss in broken if loss.update == update]
    ids = [str(id) for loss in first for id in loss.ids]
    log.error("sentences of the batch without a finite loss: %s", ", ".join(ids))
    more = f" and {len(ids) - SHOWN} more in the log" if len(ids) > SHOWN else ""
    epoch, before = divmod(update - 1, updates_of_epoch)
    return (
        f"the training loss is {sum(loss.value for loss in first)} at update {update}, batch "
        f"{before + 1} of epoch {epoch + 1}, sentences {', '.join(ids[:SHOWN])}{more}"
    )


def _updates_of_epoch(trainer: pl.Trainer) -> int:
    return int(trainer.num_training_batches) // trainer.accumulate_grad_batches
