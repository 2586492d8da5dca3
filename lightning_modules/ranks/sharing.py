"""Processes that train one model together: who does what, and how it is put together again.

A rank is one of them. One alone is rank zero of one, and nothing here costs it anything.
"""

import io
from collections import ChainMap
from typing import Any, TypeVar

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import LambdaCallback
from pytorch_lightning.utilities.exceptions import SIGTERMException
from torch import distributed

from datamodules.errors import UserError

T = TypeVar("T")


def share_out(trainer: pl.Trainer, pieces: int | None) -> None:
    """Let each rank compute its pieces of an update in turn, and count in updates all the same.

    ``None`` means one piece for each rank. Raises ``UserError`` where they do not come out even.
    """
    ranks = trainer.world_size
    pieces = pieces or ranks
    if pieces % ranks:
        raise UserError(f"batching.pieces={pieces}: set it to a multiple of {ranks}, the ranks")
    if ranks > 1:
        _end_together(trainer)
    turns = pieces // ranks
    trainer.accumulate_grad_batches = turns
    interval: Any = getattr(trainer, "val_check_interval", None)  # there is none for a time
    if isinstance(interval, int):
        trainer.val_check_interval = interval * turns  # Lightning counts batches
    elif pieces > 1 and interval != 1.0:  # an epoch
        raise UserError("trainer.val_check_interval: with several pieces, give a number of updates")


def _end_together(trainer: pl.Trainer) -> None:
    """Let SIGTERM be noted, on whichever rank, and end all between two batches.

    Lightning's own handler talks to the other ranks at once, maybe in the middle of another
    exchange; and a rank that ends by itself leaves the others waiting for ever.
    """
    connector, fitting = trainer._signal_connector, trainer.fit_loop
    noted = False

    def note(*_: Any) -> None:
        nonlocal noted
        noted = True
        connector.received_sigterm = trainer.predicting  # where nothing is exchanged

    def ask(*_: Any) -> None:
        connector.received_sigterm = trainer.strategy.reduce_boolean_decision(noted, all=False)

    def ask_before_update() -> None:
        if not fitting._should_accumulate():
            ask()
            if connector.received_sigterm:
                raise SIGTERMException

    connector._sigterm_notifier_fn = note  # type: ignore[assignment, method-assign]
    fitting.epoch_loop._broadcast_sigterm_tensor = ask_before_update  # type: ignore[method-assign]
    trainer.callbacks.append(LambdaCallback(on_validation_batch_start=ask))  # type: ignore[attr-defined]


def begins_update(trainer: pl.Trainer, batch_idx: int) -> bool:
    """Whether a batch is the first of this rank's pieces of an update."""
    return batch_idx % trainer.accumulate_grad_batches == 0


def ends_update(trainer: pl.Trainer, batch_idx: int) -> bool:
    """Whether it is the last."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches == 0


def gather(trainer: pl.Trainer, part: T) -> list[T]:
    """Return what every rank gives, in the order of the ranks."""
    if trainer.world_size == 1:
        return [part]
    content = io.BytesIO()
    torch.save(part, content)  # once what tensors share, which pickle repeats for each of them
    parts = [b""] * trainer.world_size
    distributed.all_gather_object(parts, content.getvalue())
    return [torch.load(io.BytesIO(each), weights_only=False) for each in parts]


def merged(trainer: pl.Trainer, part: dict[int, T]) -> dict[int, T]:
    """Return what all ranks have, by rising keys; what several have is the same in all."""
    everything = ChainMap(*gather(trainer, part))
    return {key: everything[key] for key in sorted(everything)}
