"""``last.ckpt``: where an interrupted training goes on."""

import logging
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytorch_lightning as pl
from pydantic import NonNegativeFloat, validate_call
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.batching import Batch
from lightning_modules.checkpoints import LAST

log = logging.getLogger(__name__)

RESUME = "resume"
"""Key in a checkpoint: what Lightning does not keep of a training between two updates."""
SHARE_OF_SAVING = 0.01
"""Of the time between two updates' checkpoints, at most: large models save less often."""


class LastCheckpoint(pl.Callback):
    """Keep a checkpoint from which a training goes on exactly as if it had never stopped.

    It is written between two updates, when all is done that the first leads to (its validation,
    the best checkpoint, the schedule): before the first update, after every validation, every so
    many ``minutes``, at the end, and when SIGTERM or Ctrl-C ends the training.

    List it before ``TrainingBudget``, whose clock leaves out what happens before.
    """

    @validate_call
    def __init__(self, folder: Path, minutes: NonNegativeFloat) -> None:
        self.file = folder / LAST
        self.minutes = minutes
        self._due = 0.0
        self._validate = self._stop = self._interrupted = False

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Leave out the batches of the epoch that were trained on before."""
        self._validate, self._stop = (checkpoint[RESUME][name] for name in ("validate", "stop"))
        updates: int = checkpoint[RESUME]["updates_of_epoch"]
        trainer.datamodule.skip_updates(updates)  # type: ignore[attr-defined]
        turns = trainer.accumulate_grad_batches  # Lightning counts batches, of one rank
        checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"] = _batches(
            checkpoint["global_step"] * turns, updates * turns
        )

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do what the interrupted training was about to do; let Ctrl-C end an update first."""
        if self._validate:
            _validate(trainer)
        trainer.should_stop |= self._stop
        default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if default and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._on_interrupt)  # Lightning puts the old one back

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Save, if it is time."""
        # Lightning counts an update too many where it goes on after a validation.
        trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step
        if batch_idx % trainer.accumulate_grad_batches:
            return
        own = self._interrupted, time.monotonic() >= self._due
        self._interrupted, due = trainer.strategy.broadcast(own)  # ranks do as the first
        self._end_if_interrupted(trainer)
        if due:
            self._save(trainer)

    def on_validation_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """End here on Ctrl-C: a validation may take long."""
        if trainer.world_size == 1:
            self._end_if_interrupted(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save before the next update: the best checkpoint is of no earlier training then."""
        self._due = 0.0

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save what an interrupted test goes on from."""
        self._interrupted = trainer.strategy.broadcast(self._interrupted)
        self._end_if_interrupted(trainer)
        self._save(trainer)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Save on SIGTERM, which Lightning answers between two batches or in a validation.

        Where an update has several, the first of them have changed no weights yet.
        """
        if isinstance(exception, SIGTERMException) and trainer.state.fn == TrainerFn.FITTING:
            self._save(trainer)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Count in Lightning's way as it does between two updates, wherever it is."""
        updates = int(trainer.num_training_batches) // trainer.accumulate_grad_batches
        epoch, done = divmod(trainer.global_step, updates)
        checkpoint[RESUME] = {
            "validate": trainer.validating,
            "stop": trainer.should_stop,
            "updates_of_epoch": done,
        }
        loops = checkpoint["loops"]["fit_loop"]
        loops["epoch_progress"] = {name: _counts(epoch + 1, epoch) for name in ("total", "current")}
        loops["epoch_loop.val_loop.batch_progress"] = _batches(0, 0)

    def _save(self, trainer: pl.Trainer) -> None:
        started = time.monotonic()
        trainer.save_checkpoint(self.file)
        now = time.monotonic()
        self._due = now + max(60 * self.minutes, (now - started) / SHARE_OF_SAVING)

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        log.info("ends after this update; Ctrl-C again ends at once")
        self._interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _end_if_interrupted(self, trainer: pl.Trainer) -> None:
        if self._interrupted:
            self._save(trainer)
            raise KeyboardInterrupt


def _batches(total: int, of_epoch: int) -> dict[str, Any]:
    counts = {"total": _counts(total, total), "current": _counts(of_epoch, of_epoch)}
    return {**counts, "is_last_batch": False}


def _counts(begun: int, done: int) -> dict[str, int]:
    return {"ready": begun, "started": begun, "processed": done, "completed": done}


def _validate(trainer: pl.Trainer) -> None:
    """Validate after an update as Lightning does, which cannot begin with it."""
    loop = trainer.fit_loop.epoch_loop
    loop.val_loop.restarting = False
    trainer.validating = True
    loop.val_loop.run()
    trainer.training = True
    loop.update_lr_schedulers("step", update_plateau_schedulers=True)
    loop._batches_that_stepped += 1
