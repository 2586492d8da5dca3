"""Finding a rank that hangs: the other ranks wait, and a waiting rank does not know for which.

A thread of every rank tells the store that connects the ranks how far its training is. The store
answers while training threads wait, on a CPU as on a GPU.
"""

import logging
import os
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytorch_lightning as pl
from torch.distributed import PrefixStore, TCPStore

from datamodules.errors import UserError
from lightning_modules.ranks.process import end_rank

log = logging.getLogger(__name__)

PATIENCE = timedelta(minutes=4)
"""Time in which a rank may stand still while others wait for it; found in five minutes."""
ASKS = 20
"""Number of times that a rank asks for the progress of all ranks in this time."""


class HungRanks(pl.Callback):
    """End all ranks with one line that names the ranks that hang.

    A rank hangs if it is behind the others and does not move. Where all ranks are equally far, as
    while all compile, no rank waits for another.

    Args:
        patience: time in which a rank that is behind must move.
    """

    def __init__(self, patience: timedelta = PATIENCE) -> None:
        self._patience = patience
        self._steps = 0
        self._ended = threading.Event()

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begin to watch."""
        rank, ranks = trainer.global_rank, trainer.world_size
        threading.Thread(target=self._watch, args=(rank, ranks), daemon=True).start()

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop watching."""
        self._ended.set()

    def on_exception(self, *_: Any) -> None:
        """Stop watching: this rank ends, and may take its time to save a checkpoint."""
        self._ended.set()

    def _move(self, *_: Any) -> None:
        self._steps += 1

    on_train_batch_start: Any = _move
    on_before_backward: Any = _move
    on_after_backward: Any = _move
    on_train_batch_end: Any = _move
    on_validation_batch_start: Any = _move
    on_validation_batch_end: Any = _move

    def _watch(self, rank: int, ranks: int) -> None:
        try:
            missing = self._missing(rank, ranks)
        except RuntimeError as error:  # the store ends with the process that holds it
            log.debug("no longer looking for ranks that hang: %s", error)
            return
        if missing and not self._ended.is_set():
            names = ", ".join(map(str, missing))
            seconds = round(self._patience.total_seconds())
            end_rank(
                UserError(
                    f"rank {names} of {ranks} hangs: no progress in {seconds} s while other ranks "
                    "wait; look at its node, then give the command again to go on from the last "
                    "checkpoint"
                )
            )

    def _missing(self, rank: int, ranks: int) -> list[int]:
        """Wait until ranks hang and return these; return none when the training ends."""
        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        server = TCPStore(*address, is_master=False, wait_for_workers=False)
        store = PrefixStore("attention-bench/progress", server)
        store.delete_key(str(rank))  # of an earlier training on the same store
        standstill, stored = Standstill(self._patience.total_seconds()), 0
        while not self._ended.wait(self._patience.total_seconds() / ASKS):
            steps = self._steps
            store.add(str(rank), steps - stored)
            stored = steps
            progress = [store.add(str(each), 0) for each in range(ranks)]
            if missing := standstill.missing(progress, time.monotonic()):
                return missing
        return []


class Standstill:
    """Finds the ranks that are behind the others and make no progress.

    Args:
        patience: seconds in which a rank that is behind must move.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._least, self._since = -1, 0.0

    def missing(self, progress: Sequence[int], now: float) -> list[int]:
        """Return the ranks for which others have waited too long, from the progress of each."""
        least = min(progress)
        if least != self._least or least == max(progress):
            self._least, self._since = least, now
        if now - self._since < self._patience:
            return []
        return [rank for rank, steps in enumerate(progress) if steps == least]
