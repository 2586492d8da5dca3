"""Sharing an update among the ranks of a training, and gathering what each rank has computed.

This module says how many pieces of an update each rank computes; ``datamodules/batching/ranks.py``
cuts the batch into these pieces. A training in one process is rank zero of one rank; these
functions then cost nothing.
"""

import io
from collections import ChainMap
from typing import Any, TypeVar

import pytorch_lightning as pl
import torch
from torch import distributed

from datamodules.errors import UserError
from lightning_modules.ranks.health import check_ranks
from lightning_modules.ranks.hung_ranks import HungRanks
from lightning_modules.ranks.lightning_internals import (
    end_ranks_together,
    limit_waiting,
    once_connected,
)
from lightning_modules.ranks.rank_flags import PATIENCE, RankFlags

T = TypeVar("T")


def share_out(trainer: pl.Trainer, pieces: int | None) -> None:
    """Let each rank compute an equal number of pieces of every update, and ask it for its flags.

    Several ranks are checked before the training, and watched during the training.
    ``pieces`` None means one piece for each rank. Raises ``UserError`` for pieces that the ranks
    cannot share evenly.
    """
    ranks = trainer.world_size
    flags = RankFlags()
    trainer.callbacks.insert(0, flags)  # type: ignore[attr-defined]
    if ranks > 1:
        end_ranks_together(trainer, flags)
        once_connected(trainer, check_ranks)
        limit_waiting(trainer, PATIENCE)
        trainer.callbacks.append(HungRanks())  # type: ignore[attr-defined]
    pieces = pieces or ranks
    if pieces % ranks:
        raise UserError(f"batching.pieces={pieces}: set it to a multiple of {ranks}, the ranks")
    turns = pieces // ranks
    trainer.accumulate_grad_batches = turns
    interval: Any = getattr(trainer, "val_check_interval", None)  # absent for an interval of time
    if isinstance(interval, int):
        trainer.val_check_interval = interval * turns  # Lightning counts batches
    elif pieces > 1 and interval != 1.0:  # an epoch
        raise UserError("trainer.val_check_interval: with several pieces, give a number of updates")


def begins_update(trainer: pl.Trainer, batch_idx: int) -> bool:
    """Whether a batch is the first of this rank's pieces of an update."""
    return batch_idx % trainer.accumulate_grad_batches == 0


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


def merged(trainer: pl.Trainer, part: dict[int, T]) -> dict[int, T]:
    """Return the entries of all ranks by rising keys; entries of equal keys are equal."""
    everything = ChainMap(*gather(trainer, part))
    return {key: everything[key] for key in sorted(everything)}
