"""Why a training ended before its budget was spent: a limit of the trainer, or a callback."""

from collections.abc import Iterator
from typing import Any

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import EarlyStopping, Timer
from pytorch_lightning.callbacks.early_stopping import EarlyStoppingReason

from lightning_modules.training.callbacks import budget_of


def ended_by(trainer: pl.Trainer, config: DictConfig) -> str | None:
    """Return the setting that ended a training before its budget was spent; None if none did."""
    if budget_of(trainer).is_spent:
        return None
    limit = next(_limits(trainer), None)
    if limit is not None:
        return f"trainer.{limit}={config.trainer[limit]}"
    stopped = (each for each in _early_stopping(trainer))
    return next((f"callbacks.{_key(config, each)}" for each in stopped), "a callback")


def _limits(trainer: pl.Trainer) -> Iterator[str]:
    """Yield the trainer's arguments whose limit is reached."""
    if trainer.fast_dev_run:  # type: ignore[attr-defined]
        yield "fast_dev_run"
    if trainer.limit_train_batches == 0:
        yield "limit_train_batches"
    if 0 <= trainer.max_steps <= trainer.global_step:
        yield "max_steps"
    if trainer.max_epochs is not None and 0 <= trainer.max_epochs <= trainer.current_epoch:
        yield "max_epochs"
    timers = (each for each in _callbacks(trainer) if isinstance(each, Timer))
    if any((each.time_remaining() or 0) <= 0 for each in timers):
        yield "max_time"


def _early_stopping(trainer: pl.Trainer) -> Iterator[pl.Callback]:
    for each in _callbacks(trainer):
        stops = isinstance(each, EarlyStopping)
        if stops and each.stopping_reason != EarlyStoppingReason.NOT_STOPPED:
            yield each


def _key(config: DictConfig, callback: pl.Callback) -> str:
    """Return the key of a callback in the configuration; callbacks of one class share the first."""
    name = type(callback).__name__
    keys = (key for key, node in config.callbacks.items() if node._target_.endswith(name))
    return str(next(keys, name))


def _callbacks(trainer: pl.Trainer) -> list[Any]:
    return trainer.callbacks  # type: ignore[attr-defined]
