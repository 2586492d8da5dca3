"""What the ranks of a training exchange: shares of an update, flags between updates, results.

This module says how many pieces of an update each rank computes; ``datamodules`` cuts the batch
into these pieces. A training in one process is rank zero of one rank; these functions then cost
nothing.
"""

import io
import time
from collections import ChainMap
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from torch import distributed

from datamodules.batching import Batch
from datamodules.errors import UserError
from lightning_modules.ranks.devices import world_size

T = TypeVar("T")

SECONDS = 1.0
"""Time between two exchanges at the pace so far: half of the longest time that a flag may wait."""
PATIENCE = timedelta(minutes=5)  # longest time that a rank waits for the others in an exchange


def shared_update(trainer: DictConfig, pieces: int | None) -> dict[str, Any]:
    """Return arguments of Lightning's trainer that give each rank equally many pieces of an update.

    ``pieces`` None means one piece for each rank. Raises ``UserError`` for pieces that the ranks
    cannot share evenly.
    """
    ranks = world_size()
    pieces = pieces or ranks
    if pieces % ranks:
        raise UserError(f"batching.pieces={pieces}: set it to a multiple of {ranks}, the ranks")
    turns = pieces // ranks
    interval = trainer.val_check_interval
    if isinstance(interval, int):
        interval *= turns  # Lightning counts batches
    elif pieces > 1 and interval != 1.0:  # an epoch
        raise UserError("trainer.val_check_interval: with several pieces, give a number of updates")
    return {"accumulate_grad_batches": turns, "val_check_interval": interval}


def ends_update(trainer: pl.Trainer, batch_idx: int) -> bool:
    """Whether a batch is the last of this rank's pieces of an update."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches == 0


def gather(trainer: pl.Trainer, part: T) -> list[T]:
    """Return the ``part`` of every rank, in the order of the ranks."""
    if trainer.world_size == 1:
        return [part]
    content = io.BytesIO()
    torch.save(part, content)  # storage that tensors share once; pickle repeats the storage
    parts = [b""] * trainer.world_size
    distributed.all_gather_object(parts, content.getvalue())
    return [torch.load(io.BytesIO(each), weights_only=False) for each in parts]


def gather_by_key(trainer: pl.Trainer, part: dict[int, T]) -> dict[int, T]:
    """Return the entries of all ranks by rising keys; entries of equal keys are equal."""
    everything = ChainMap(*gather(trainer, part))
    return {key: everything[key] for key in sorted(everything)}


class UpdateCallback(pl.Callback):
    """A callback that counts whole updates, of which a rank may compute several pieces."""

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Act before an update."""

    def on_update_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch
    ) -> None:
        """Act after an update; ``batch`` is its last piece on this rank."""

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Call ``on_update_start`` before the first piece."""
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self.on_update_start(trainer, pl_module)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Call ``on_update_end`` after the last piece."""
        if ends_update(trainer, batch_idx):
            self.on_update_end(trainer, pl_module, batch)


class RankFlags(UpdateCallback):
    """Ask each rank for its flags between two updates, and tell all ranks which flags are raised.

    A single rank asks before every update, several ranks every ``log_every_n_steps`` updates and at
    least every two seconds: an exchange takes a message to every rank. The messages go over gloo,
    from processor to processor, so that no GPU has to finish its work first.

    List this callback first.
    """

    def __init__(self) -> None:
        self._sources: dict[str, Callable[[], bool]] = {}
        self._raised: dict[str, bool] = {}
        self._group: distributed.ProcessGroup | None = None
        self._next, self._last = 0, (0, 0.0)

    def add(self, name: str, source: Callable[[], bool]) -> None:
        """Add a flag; all ranks add the same flags in the same order."""
        self._sources[name] = source
        self._raised[name] = False

    def __getitem__(self, name: str) -> bool:
        """Return whether any rank has raised a flag, as the exchange before this update found."""
        return self._raised[name]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Connect the ranks."""
        if trainer.world_size > 1:
            self._group = distributed.new_group(backend="gloo", timeout=PATIENCE)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Exchange before the first update, also of a resumed training."""
        self._next, self._last = trainer.global_step, (trainer.global_step, time.monotonic())

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Exchange if it is time; a flag that is raised meanwhile waits for the next exchange."""
        if trainer.global_step >= self._next:
            self.exchange(trainer)
        else:
            self._raised = dict.fromkeys(self._sources, False)

    def on_validation_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """Exchange, since a validation may take long."""
        self.exchange(trainer)

    def exchange(self, trainer: pl.Trainer) -> None:
        """Exchange all flags now, on all ranks; a rank waits for the others."""
        flags = [float(source()) for source in self._sources.values()]
        if trainer.world_size > 1:
            update, now = trainer.global_step, time.monotonic()
            updates = update - self._last[0]
            pace = (now - self._last[1]) / updates if updates else SECONDS  # not known yet
            together = torch.tensor([*flags, pace])
            distributed.all_reduce(together, distributed.ReduceOp.MAX, self._group)
            *flags, pace = together.tolist()
            most: int = trainer.log_every_n_steps  # type: ignore[attr-defined]
            self._next = update + max(1, min(most, round(SECONDS / max(pace, 1e-9))))
            self._last = update, time.monotonic()
        self._raised = dict(zip(self._sources, map(bool, flags), strict=True))


def flags_of(trainer: pl.Trainer) -> RankFlags:
    """Return the flags of a trainer."""
    return callback_of(trainer, RankFlags)


def callback_of(trainer: pl.Trainer, kind: type[T]) -> T:
    """Return the callback of a trainer that is of this kind."""
    return next(each for each in trainer.callbacks if isinstance(each, kind))  # type: ignore[attr-defined]
