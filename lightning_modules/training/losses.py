"""The losses of a training, read from the device many at a time.

Whoever reads a number from a GPU waits until the GPU has computed it; then the GPU has nothing to
do until the next kernels arrive.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from datamodules.batching import Batch


class BrokenLoss(NamedTuple):
    """A loss that is NaN or infinite."""

    value: float
    update: int
    """Number of the update, from 1."""
    ids: list[int]
    """Sentences of the piece, as indices in the split."""


class TrainingLosses:
    """Losses of the pieces of a training; each stays on its device until ``read``."""

    def __init__(self) -> None:
        self.total = 0.0
        """Sum of the losses read, each times the target tokens of its update; ``History`` sets it
        back to 0 after each validation."""
        self.broken: list[BrokenLoss] = []
        """Losses read so far that are NaN or infinite."""
        self._unread: list[tuple[Tensor, Batch, int]] = []

    def add(self, loss: Tensor, batch: Batch, update: int) -> None:
        """Add the loss ``()`` of a piece; the pieces of this rank sum up to its update's loss."""
        self._unread.append((loss, batch, update))

    def read(self, done: int) -> None:
        """Read the losses of the updates up to number ``done``, with one wait for the device.

        An update that is interrupted between two pieces begins again later: it does not count.
        """
        unread = [entry for entry in self._unread if entry[2] <= done]
        self._unread = self._unread[len(unread) :]
        if not unread:
            return
        losses, batches, updates = zip(*unread, strict=True)
        for value, batch, update in zip(
            torch.stack(losses).tolist(), batches, updates, strict=True
        ):
            self.total += value * batch.update_tokens
            if not math.isfinite(value):
                self.broken.append(BrokenLoss(value, update, batch.ids.tolist()))


def losses_of(pl_module: pl.LightningModule) -> TrainingLosses:
    """Return the losses of the module that is trained."""
    losses = pl_module.losses
    assert isinstance(losses, TrainingLosses)
    return losses


def are_finite(parameters: Iterable[nn.Parameter]) -> bool:
    """Return whether all numbers that this rank holds are finite, with one wait for each device."""
    by_device: dict[torch.device, list[Tensor]] = {}
    for parameter in parameters:
        data = parameter.detach()
        own = data.to_local() if isinstance(data, DTensor) else data
        by_device.setdefault(own.device, []).append(own.isfinite().all())
    return all(bool(torch.stack(found).all()) for found in by_device.values())
