"""What a study sees of a training, and how it ends one."""

import math
from typing import Any

import optuna
import pytorch_lightning as pl
import wandb

from lightning_modules.callbacks import DivergedError, TokenBudget
from lightning_modules.tracking.names import TRIAL_BLEU

WHOLE = 100
"""Steps of a trial: hundredths of what it may cost, over all of its seeds."""
STATE = ("best_bleu", "lowest_loss", "verdict", "reports", "seconds", "target_tokens")
"""What a watch of an interrupted training leaves to the next."""


class Watch(pl.Callback):
    """Tell a trial every validation, and stop when the study has seen enough.

    All ranks of a training stop together. Raises ``optuna.TrialPruned`` and ``DivergedError``
    from where Lightning has taken its training down, so that the device is free at once.

    Args:
        trial: ``None`` on ranks other than the first, and where nothing is to be told.
        metric: ``val/bleu`` or ``val/loss``.
        done: seeds of the trial that were trained before this one.
        seeds: of the trial.
    """

    def __init__(self, trial: optuna.Trial | None, metric: str, done: int, seeds: int) -> None:
        self.trial = trial
        self.metric = metric
        self.done, self.seeds = done, seeds
        self.best_bleu, self.lowest_loss = -math.inf, math.inf
        self.verdict = ""
        self.reports: list[tuple[int, float]] = []
        self.seconds, self.target_tokens = 0.0, 0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Tell what a dead worker had told: the trial that takes its place knows nothing of it."""
        if self.trial is not None:
            for step, value in self.reports:
                self.trial.report(value, step)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Keep account of what the training has cost."""
        budget = _budget(trainer)
        self.seconds, self.target_tokens = budget.seconds, budget.seen_tokens

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Report, and ask the trainer to stop."""
        found = {name: float(trainer.callback_metrics[name]) for name in ("val/bleu", "val/loss")}
        self.best_bleu = max(self.best_bleu, found["val/bleu"])
        self.lowest_loss = min(self.lowest_loss, found["val/loss"])
        verdict = ""
        if not math.isfinite(found["val/loss"]):
            verdict = "diverged"
        elif self.trial is not None and trainer.is_global_zero:
            step, value = self._step(trainer), found[self.metric]
            self.reports.append((step, value))
            self.trial.report(value, step)
            verdict = "pruned" if self.trial.should_prune() else ""
        self.verdict = trainer.strategy.broadcast(verdict)
        if self.verdict:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """Return what was seen so far."""
        return {name: getattr(self, name) for name in STATE}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what a dead worker had seen."""
        for name, value in state_dict.items():
            setattr(self, name, value)

    def tell(self, run: wandb.Run) -> None:
        """Put into a tracked run's summary what tables of trials are sorted by."""
        run.summary[TRIAL_BLEU] = self.best_bleu
        run.summary["trial/loss"] = self.lowest_loss
        run.summary["trial/state"] = self.verdict or "finished"

    def check(self) -> None:
        """Raise what the training was stopped for, once it has ended."""
        if self.verdict == "pruned":
            raise optuna.TrialPruned
        if self.verdict == "diverged" or not math.isfinite(self.lowest_loss):
            raise DivergedError("the validation loss is not a number")

    def _step(self, trainer: pl.Trainer) -> int:
        return round(WHOLE * (self.done + _budget(trainer).share) / self.seeds)


def _budget(trainer: pl.Trainer) -> TokenBudget:
    return next(c for c in trainer.callbacks if isinstance(c, TokenBudget))  # type: ignore[attr-defined]
