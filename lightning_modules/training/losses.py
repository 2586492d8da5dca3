"""The losses of a training, read from the device many at a time.

Whoever reads a number from a GPU waits until the GPU has computed it; then the GPU has nothing to
do until the next kernels arrive.
"""

import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from datamodules.batching import Batch
from datamodules.errors import UserError
from lightning_modules.kernels.device import runs_ahead
from lightning_modules.ranks.updates import UpdateCallback, flags_of, gather
from lightning_modules.runs.paths import NOT_FINITE

log = logging.getLogger(__name__)


class TrainingLosses:
    """Losses of the pieces of a training, and gradient norms of its updates.

    Each stays on its device until ``read``. ``History`` sets the sums back after each validation.
    """

    def __init__(self) -> None:
        self.total = 0.0
        """Sum of the losses read, each times the target tokens of its update."""
        self.norms = 0.0, 0
        """Sum and number of the finite gradient norms read, the same on every rank."""
        self.broken: list[tuple[int, float, list[int]]] = []
        """Update, from 1, value and sentences of each loss read that is NaN or infinite."""
        self._unread: list[tuple[Tensor, Batch, int]] = []
        self._unread_norms: list[Tensor] = []

    def add_norm(self, norm: Tensor) -> None:
        """Add the norm ``()`` of the gradient of an update, before clipping."""
        self._unread_norms.append(norm)

    def add(self, loss: Tensor, batch: Batch, update: int) -> None:
        """Add the loss ``()`` of a piece; the pieces of this rank sum up to its update's loss."""
        self._unread.append((loss, batch, update))

    def read(self) -> None:
        """Read losses and norms since the last reading, with one wait for the device."""
        if not self._unread:
            return
        losses, batches, updates = zip(*self._unread, strict=True)
        norms = [norm.to(losses[0].dtype) for norm in self._unread_norms]
        self._unread, self._unread_norms = [], []
        read = torch.stack([*losses, *norms]).tolist()
        values = read[: len(losses)]
        finite = list(filter(math.isfinite, read[len(losses) :]))  # float16 skips other updates
        self.norms = self.norms[0] + sum(finite), self.norms[1] + len(finite)
        for value, batch, update in zip(values, batches, updates, strict=True):
            self.total += value * batch.update_tokens
            if not math.isfinite(value):
                self.broken.append((update, value, batch.ids.tolist()))


def losses_of(pl_module: pl.LightningModule) -> TrainingLosses:
    """Return the losses of the module that is trained."""
    losses: TrainingLosses = pl_module.losses  # type: ignore[assignment]
    return losses


def are_finite(parameters: Iterable[nn.Parameter]) -> bool:
    """Return whether all numbers of parameters are finite, with one wait for each device."""
    by_device: dict[torch.device, list[Tensor]] = {}
    for parameter in parameters:
        finite = parameter.detach().isfinite().all()
        by_device.setdefault(finite.device, []).append(finite)
    return all(bool(torch.stack(found).all()) for found in by_device.values())


SHOWN = 10  # number of sentence numbers in the error; the log lists all


class DivergedError(UserError):
    """A loss or a weight is NaN or infinite."""


class StopOnDivergence(UpdateCallback):
    """Stop a training with a NaN or infinite loss, and save its state in ``folder``.

    Losses are looked at after every update on a CPU, and every ``log_every_n_steps`` updates on a
    GPU, which would wait otherwise. Before a checkpoint is written, the weights are looked at too:
    checkpoints hold finite weights only, besides the state that this callback saves.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._saving = False

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks end when any rank finds such a loss."""
        flags_of(trainer).add("diverged", lambda: bool(losses_of(pl_module).broken))

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """End on a loss that any rank has found. Raises ``DivergedError``."""
        if flags_of(trainer)["diverged"]:
            self._check(trainer, pl_module)

    def on_update_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch
    ) -> None:
        """Read the losses if it is time. Raises ``DivergedError`` in a training of one rank."""
        every: int = trainer.log_every_n_steps if runs_ahead(pl_module.device) else 1  # type: ignore[attr-defined]
        if trainer.global_step % every == 0:
            losses_of(pl_module).read()
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
        losses.read()
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
        updates = int(trainer.num_training_batches) // trainer.accumulate_grad_batches
        raise DivergedError(f"{_describe(broken, updates)}; {kept}")


def _describe(broken: list[tuple[int, float, list[int]]], updates_of_epoch: int) -> str:
    """Return what the first update with a broken loss was; the log gets all of its sentences."""
    update = min(number for number, _, _ in broken)
    first = [(value, rows) for number, value, rows in broken if number == update]
    ids = [str(row) for _, rows in first for row in rows]
    log.error("sentences of the batch without a finite loss: %s", ", ".join(ids))
    more = f" and {len(ids) - SHOWN} more in the log" if len(ids) > SHOWN else ""
    epoch, before = divmod(update - 1, updates_of_epoch)
    return (
        f"the training loss is {sum(value for value, _ in first)} at update {update}, batch "
        f"{before + 1} of epoch {epoch + 1}, sentences {', '.join(ids[:SHOWN])}{more}"
    )
