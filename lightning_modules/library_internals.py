"""The private parts of Lightning that the harness uses; a test fails where Lightning changes one.

Lightning counts batches and validations in ways that are exact at the end of an epoch only, and its
handler of SIGTERM may speak to other ranks in the middle of an exchange.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import LambdaCallback
from pytorch_lightning.utilities.exceptions import SIGTERMException

if TYPE_CHECKING:
    from lightning_modules.ranks.updates import RankFlags


def end_ranks_together(trainer: pl.Trainer, flags: "RankFlags") -> None:
    """Let SIGTERM on any rank end all ranks between two updates or validation batches.

    Lightning's handler talks to the other ranks at once, maybe in the middle of another exchange;
    and the other ranks would wait forever for a rank that ends alone.
    """
    connector, epochs = trainer._signal_connector, trainer.fit_loop.epoch_loop
    noted = False

    def note(*_: Any) -> None:
        nonlocal noted
        noted = True
        connector.received_sigterm = trainer.predicting  # a test exchanges nothing

    def end_before_update(*_: Any) -> None:
        if flags["sigterm"]:
            connector.received_sigterm = True
            raise SIGTERMException

    def end_validation(*_: Any) -> None:
        connector.received_sigterm = flags["sigterm"]

    flags.add("sigterm", lambda: noted)
    connector._sigterm_notifier_fn = note  # type: ignore[assignment, method-assign]
    epochs._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]
    end = LambdaCallback(
        on_train_batch_start=end_before_update, on_validation_batch_start=end_validation
    )
    trainer.callbacks.append(end)  # type: ignore[attr-defined]


def once_connected(trainer: pl.Trainer, check: Callable[[pl.Trainer], None]) -> None:
    """Call ``check`` once, as soon as the ranks are connected and before they exchange anything."""
    strategy = trainer.strategy
    connect = strategy.setup_environment

    def connect_and_check() -> None:
        connect()
        strategy.setup_environment = connect  # type: ignore[method-assign]
        check(trainer)

    strategy.setup_environment = connect_and_check  # type: ignore[method-assign]


def limit_waiting(trainer: pl.Trainer, longest: timedelta) -> None:
    """Let GPUs wait for each other no longer than ``longest``.

    CPUs may wait longer: they translate a test set at unequal speed.
    """
    if trainer.strategy.root_device.type == "cuda" and hasattr(trainer.strategy, "_timeout"):
        trainer.strategy._timeout = longest


def correct_step_count(trainer: pl.Trainer) -> None:
    """Set Lightning's step counter to the true number.

    After a resumed validation the counter is one too high.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step


def skip_batches(checkpoint: dict[str, Any], total: int, of_epoch: int) -> None:
    """Let a training go on after ``total`` batches of this rank, ``of_epoch`` in this epoch."""
    progress = _batch_progress(total, of_epoch)
    checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"] = progress


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


def validate_now(trainer: pl.Trainer) -> None:
    """Validate between two updates as Lightning does at the end of an update."""
    loop = trainer.fit_loop.epoch_loop
    loop.val_loop.restarting = False
    trainer.validating = True
    loop.val_loop.run()
    trainer.training = True
    loop.update_lr_schedulers("step", update_plateau_schedulers=True)
    loop._batches_that_stepped += 1


def rewind_progress(checkpoint: dict[str, Any], epoch: int) -> None:
    """Let the loops of a checkpoint stand between two updates of ``epoch``, before a validation."""
    loops = checkpoint["loops"]["fit_loop"]
    loops["epoch_progress"] = {name: _counts(epoch + 1, epoch) for name in ("total", "current")}
    loops["epoch_loop.val_loop.batch_progress"] = _batch_progress(0, 0)


def _batch_progress(total: int, of_epoch: int) -> dict[str, Any]:
    counts = {"total": _counts(total, total), "current": _counts(of_epoch, of_epoch)}
    return {**counts, "is_last_batch": False}


def _counts(begun: int, done: int) -> dict[str, int]:
    return {"ready": begun, "started": begun, "processed": done, "completed": done}
