"""``last.ckpt``: the checkpoint from which an interrupted training continues to the last bit.

Lightning counts batches and validations in ways that are exact at the end of an epoch only: a
checkpoint of its own between two updates validates one update late. So the counts are set here.
"""

import os
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.files import keep_file
from lightning_modules.kernels import precision
from lightning_modules.library_internals import correct_step_count
from lightning_modules.ranks.updates import UpdateCallback, flags_of
from lightning_modules.runs.paths import EARLIER, LAST
from lightning_modules.runs.settings import flatten
from lightning_modules.runs.trunk_checks import schedule_that_ends
from lightning_modules.training.budgets import plateau_of
from lightning_modules.training.callbacks import budget_of, is_budget_spent

RESUME = "resume"  # key in a checkpoint: state between two updates that Lightning does not keep
SHARE_OF_SAVING = 0.01
"""Largest share of the training time that saving takes: large models save less often."""


class ResumeCheckpoint(UpdateCallback):
    """Keep a checkpoint from which a training continues exactly as if it had never stopped.

    The checkpoint is written between two updates, when validation, best checkpoint and schedule
    step of the earlier update are done: before the first update, after every validation, every so
    many ``minutes``, at the end, and when SIGTERM or Ctrl-C ends the training. A training with a
    larger budget may not have the last validation: it continues from the state before, which is
    kept with the best checkpoints until then.

    List this callback before ``TrainingBudget``, whose clock then leaves the saving out.
    """

    def __init__(self, folder: str, minutes: float) -> None:
        self.file = Path(folder) / LAST
        self.minutes = minutes
        self._due = 0.0
        self._validate = self._stop = False

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Stand between two updates, before the batches of the epoch that were not seen yet.

        Products are computed as before, so that the training continues to the last digit on
        another processor too.
        """
        saved = checkpoint[RESUME]
        precision.use_products(saved["products"])
        is_longer = Path(str(trainer.ckpt_path)).resolve() != self.file.resolve()
        self._validate = saved["validate"] and (saved["due"] or not is_longer)
        plateau = plateau_of(checkpoint["hyper_parameters"])
        goes_on = saved["spent"] or plateau != budget_of(trainer).budget.plateau
        self._stop = saved["stop"] and not (is_longer and goes_on)
        move_best_checkpoint(checkpoint, Path(os.path.realpath(self.file.parent)))
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        epoch, done = divmod(checkpoint["global_step"], data.updates_per_epoch)
        data.skip_updates(done)
        turns = trainer.accumulate_grad_batches  # Lightning counts batches of one rank
        checkpoint["loops"]["fit_loop"] |= _between_updates(
            epoch, checkpoint["global_step"] * turns, done * turns
        )

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks save when the first rank wants to."""
        due = lambda: trainer.is_global_zero and time.monotonic() >= self._due  # noqa: E731
        flags_of(trainer).add("save", due)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do the validation that was due."""
        if self._validate:
            validate_now(trainer)
        trainer.should_stop |= self._stop

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save if the time has come."""
        correct_step_count(trainer)
        if flags_of(trainer)["save"]:
            self._save(trainer)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep the state before the last validation, if a longer training can continue from it."""
        is_end = trainer.state.fn == TrainerFn.FITTING and trainer.should_stop
        if is_end and schedule_that_ends(flatten(pl_module.hparams)) is None:
            self._keep_earlier(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save before the next update, so that ``last.ckpt`` and ``best.ckpt`` fit together."""
        self._due = 0.0

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save, so that an interrupted test can start again without training."""
        self._save(trainer)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Save where ``EndOnSignals`` ends the training, between two updates or in a validation."""
        if isinstance(exception, SIGTERMException) and trainer.state.fn == TrainerFn.FITTING:
            self._save(trainer)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Store what Lightning does not."""
        checkpoint[RESUME] = {
            "validate": trainer.validating,
            "due": is_validation_due(trainer),
            "stop": trainer.should_stop,
            "spent": is_budget_spent(trainer),
            "products": precision.products_in_use(),
        }

    def _keep_earlier(self, trainer: pl.Trainer) -> None:
        """Keep the best checkpoints, which the last validation may replace, and save the state."""
        if trainer.is_global_zero:
            for file in self.file.parent.glob(f"{EARLIER}*"):
                file.unlink()
            for callback in trainer.checkpoint_callbacks:
                for file in map(Path, getattr(callback, "best_k_models", ())):
                    if file.is_file() and file.resolve().parent == self.file.resolve().parent:
                        keep_file(file, self.file.with_name(f"{EARLIER}{file.name}"))
        trainer.save_checkpoint(self.file.with_name(f"{EARLIER}{self.file.name}"))

    def _save(self, trainer: pl.Trainer) -> None:
        started = time.monotonic()
        trainer.save_checkpoint(self.file)
        now = time.monotonic()
        self._due = now + max(60 * self.minutes, (now - started) / SHARE_OF_SAVING)


def is_validation_due(trainer: pl.Trainer) -> bool:
    """Return whether an update is validated also if the training does not end with it."""
    loop, epochs = trainer.fit_loop.epoch_loop, trainer.check_val_every_n_epoch
    if epochs is not None and (trainer.current_epoch + 1) % epochs:
        return False
    every = trainer.val_check_batch  # None where a time is given
    done = 1 + (loop.total_batch_idx if epochs is None else loop.batch_idx)
    return every is not None and done % every == 0


def validate_now(trainer: pl.Trainer) -> None:
    """Validate between two updates as Lightning does at the end of an update."""
    loop = trainer.fit_loop.epoch_loop
    loop.val_loop.restarting = False
    trainer.validating = True
    loop.val_loop.run()
    trainer.training = True
    loop.update_lr_schedulers("step", update_plateau_schedulers=True)
    correct_step_count(trainer)


def move_best_checkpoint(checkpoint: dict[str, Any], folder: Path) -> None:
    """Let the record of the best checkpoint name its file in ``folder``, where the run lies now.

    For another folder, Lightning would forget the best score.
    """

    def moved(path: str) -> str:
        return str(folder / Path(path).name) if path else path

    for state in checkpoint["callbacks"].values():
        if "best_model_path" in state:
            paths = ("best_model_path", "kth_best_model_path", "last_model_path")
            state |= {name: moved(state[name]) for name in paths}
            best = {moved(path): score for path, score in state["best_k_models"].items()}
            state |= {"dirpath": str(folder), "best_k_models": best}


def _between_updates(epoch: int, batches: int, batches_of_epoch: int) -> dict[str, Any]:
    """Return Lightning's counts before the next batch, when all validations are done."""
    return {
        "epoch_progress": {name: _counts(epoch + 1, epoch) for name in ("total", "current")},
        "epoch_loop.batch_progress": _batch_progress(batches, batches_of_epoch),
        "epoch_loop.val_loop.batch_progress": _batch_progress(0, 0),
    }


def _batch_progress(total: int, of_epoch: int) -> dict[str, Any]:
    counts = {"total": _counts(total, total), "current": _counts(of_epoch, of_epoch)}
    return {**counts, "is_last_batch": False}


def _counts(begun: int, done: int) -> dict[str, int]:
    return {"ready": begun, "started": begun, "processed": done, "completed": done}
