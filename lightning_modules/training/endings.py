"""Why a training ended before its budget was spent: a limit of the trainer, or a callback."""

from collections.abc import Iterator

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import EarlyStopping, Timer
from pytorch_lightning.callbacks.early_stopping import EarlyStoppingReason

from lightning_modules.runs.schema import PLATEAU
from lightning_modules.training.callbacks import budget_of, is_budget_spent
from lightning_modules.training.learning_curve import curve_of


def ended_by(trainer: pl.Trainer, config: DictConfig) -> str | None:
    """Return the setting that ended a training before its amount was spent; None if none did."""
    if is_budget_spent(trainer):
        return None
    curve = curve_of(trainer)
    if curve is not None and curve.is_at_plateau(trainer):
        return f"{PLATEAU}={config.budget.plateau}"
    if (limit := _limit(trainer)) is not None:
        return f"trainer.{limit}={str(config.trainer[limit]).lower()}"
    return next((_setting(config, each) for each in _stopping(trainer)), "a callback")


def unspent(trainer: pl.Trainer, cause: str | None) -> Iterator[str]:
    """Yield a line for a training that was ended by ``cause`` before its budget was spent.

    A plateau is a part of the budget.
    """
    if cause is not None and not cause.startswith(PLATEAU):
        budget = budget_of(trainer)
        amount = f"{budget.budget.amount:,.9g} {budget.kinds[budget.budget.kind].unit}"
        yield (
            f"{cause} ended the training after {budget.share:.1%} of its budget of {amount}; leave "
            "it out to spend the budget"
        )


def _limit(trainer: pl.Trainer) -> str | None:
    """Return the argument of the trainer whose limit is reached; None for no such argument."""
    if trainer.fast_dev_run:  # type: ignore[attr-defined]
        return "fast_dev_run"
    if 0 <= trainer.max_steps <= trainer.global_step:
        return "max_steps"
    if trainer.max_epochs is not None and 0 <= trainer.max_epochs <= trainer.current_epoch:
        return "max_epochs"
    return None


def _stopping(trainer: pl.Trainer) -> Iterator[pl.Callback]:
    """Yield the callbacks of Lightning that have stopped the training."""
    for each in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(each, EarlyStopping):
            if each.stopping_reason != EarlyStoppingReason.NOT_STOPPED:
                yield each
        elif isinstance(each, Timer) and (each.time_remaining() or 0) <= 0:
            yield each


def _setting(config: DictConfig, callback: pl.Callback) -> str:
    """Return the setting that made a callback; callbacks of one class share the first."""
    name = type(callback).__name__
    keys = (key for key, node in config.callbacks.items() if node._target_.endswith(f".{name}"))
    key = next(keys, None)
    return f"trainer.max_time={config.trainer.max_time}" if key is None else f"callbacks.{key}"
