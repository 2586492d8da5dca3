"""``last.ckpt``: the checkpoint from which an interrupted training goes on."""

import logging
import os
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
from lightning_modules.kernels import precision
from lightning_modules.library_internals import (
    correct_step_count,
    move_best_checkpoint,
    rewind_progress,
    skip_batches,
    validate_now,
)
from lightning_modules.ranks.updates import RankFlags, flags_of
from lightning_modules.runs.paths import LAST

log = logging.getLogger(__name__)


RESUME = "resume"
"""Key in a checkpoint: state between two updates that Lightning does not keep."""
SHARE_OF_SAVING = 0.01
"""Largest share of the training time that saving takes: large models save less often."""


class ResumeCheckpoint(pl.Callback):
    """Keep a checkpoint from which a training goes on exactly as if it had never stopped.

    The checkpoint is written between two updates, when validation, best checkpoint and schedule
    step of the earlier update are done: before the first update, after every validation, every so
    many ``minutes``, at the end, and when SIGTERM or Ctrl-C ends the training.

    List this callback before ``TrainingBudget``, whose clock then leaves the saving out.
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
        """Skip the batches of the epoch that the interrupted training has seen.

        The folder of the run may have been moved since. Products are computed as before, so that
        the training goes on to the last digit on another processor too.
        """
        precision.use_products(checkpoint[RESUME]["products"])
        move_best_checkpoint(checkpoint, Path(os.path.realpath(self.file.parent)))
        self._validate, self._stop = (checkpoint[RESUME][name] for name in ("validate", "stop"))
        updates: int = checkpoint[RESUME]["updates_of_epoch"]
        trainer.datamodule.skip_updates(updates)  # type: ignore[attr-defined]
        turns = trainer.accumulate_grad_batches  # Lightning counts batches of one rank
        skip_batches(checkpoint, checkpoint["global_step"] * turns, updates * turns)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks save when the first rank wants to, and end when any rank is interrupted."""
        flags = flags_of(trainer)
        flags.add("interrupted", lambda: self._interrupted)
        flags.add("save", lambda: trainer.is_global_zero and time.monotonic() >= self._due)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do the validation that was due; from now on Ctrl-C ends the training after an update."""
        if self._validate:
            validate_now(trainer)
        trainer.should_stop |= self._stop
        default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if default and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._on_interrupt)  # Lightning restores the old handler

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Save if the time has come."""
        correct_step_count(trainer)
        flags = flags_of(trainer)
        self._end_if_interrupted(trainer, flags)
        if flags["save"]:
            self._save(trainer)

    def on_validation_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """End on Ctrl-C, since a validation may take long."""
        self._end_if_interrupted(trainer, flags_of(trainer))

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save before the next update, so that ``last.ckpt`` and ``best.ckpt`` fit together."""
        self._due = 0.0

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save, so that an interrupted test can start again without training."""
        flags = flags_of(trainer)
        flags.exchange(trainer)
        self._end_if_interrupted(trainer, flags)
        self._save(trainer)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Save on SIGTERM, which Lightning answers between two batches or in a validation.

        If SIGTERM comes between two pieces of an update, the saved weights are those before the
        update.
        """
        if isinstance(exception, SIGTERMException) and trainer.state.fn == TrainerFn.FITTING:
            self._save(trainer)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Store Lightning's counters as if training had stopped exactly between two updates."""
        updates = int(trainer.num_training_batches) // trainer.accumulate_grad_batches
        epoch, done = divmod(trainer.global_step, updates)
        checkpoint[RESUME] = {
            "validate": trainer.validating,
            "stop": trainer.should_stop,
            "updates_of_epoch": done,
            "products": precision.products_in_use(),
        }
        rewind_progress(checkpoint, epoch)

    def _save(self, trainer: pl.Trainer) -> None:
        started = time.monotonic()
        trainer.save_checkpoint(self.file)
        now = time.monotonic()
        self._due = now + max(60 * self.minutes, (now - started) / SHARE_OF_SAVING)

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        log.info("training ends after this update; Ctrl-C again ends it at once")
        self._interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _end_if_interrupted(self, trainer: pl.Trainer, flags: RankFlags) -> None:
        if flags["interrupted"]:
            self._save(trainer)
            raise KeyboardInterrupt
