"""Reports of a training to its study, and the study's decision to end the training."""

import math
from typing import Any, Literal

import optuna
import pytorch_lightning as pl

from lightning_modules.tracking.names import TRIAL_BLEU
from lightning_modules.training.callbacks import DivergedError, budget_of
from lightning_modules.training.control.budgets import Cost, total
from sweeps.studies.settings import TRIAL_STEPS, Sweep
from sweeps.studies.slots import COST

STATE = ("best_bleu", "lowest_loss", "verdict", "reports", "cost")
"""Attributes that a checkpoint keeps for a resumed training."""

Verdict = Literal["", "pruned", "diverged"]


class TrialCallback(pl.Callback):
    """Report every validation to a trial, and stop the training when the study prunes the trial.

    All ranks of a training stop together; only rank zero uses the storage.

    Args:
        trial: the trial that the training belongs to.
        sweep: names the objective and the pruner.
        done: number of seeds of the trial that were trained before this one.
        spent: cost of these seeds.
    """

    def __init__(self, trial: optuna.Trial, sweep: Sweep, done: int, spent: Cost) -> None:
        self.trial = trial
        self.reports_steps = sweep.prunes_by == "validations"
        self.metric = "val/loss" if sweep.objectives[0] == "loss" else "val/bleu"
        self.done, self.seeds = done, len(sweep.seeds)
        self.spent = spent
        self.best_bleu, self.lowest_loss = -math.inf, math.inf
        self.verdict: Verdict = ""
        self.reports: list[tuple[int, float]] = []
        self.cost: Cost = {}

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Repeat the reports of a dead worker to the new trial."""
        if trainer.is_global_zero:
            self._repeat()

    def take_over(self, reports: list[tuple[int, float]], cost: Cost) -> None:
        """Report a whole training that a dead worker had finished."""
        self.reports, self.cost = reports, cost
        self._repeat()
        self._account()

    def _repeat(self) -> None:
        if self.reports_steps:
            for step, value in self.reports:
                self.trial.report(value, step)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Keep the cost of the training so far."""
        self.cost = dict(budget_of(trainer).cost)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Report the validation, and stop the trainer if the study prunes the trial."""
        values = {name: float(trainer.callback_metrics[name]) for name in ("val/bleu", "val/loss")}
        self.best_bleu = max(self.best_bleu, values["val/bleu"])
        self.lowest_loss = min(self.lowest_loss, values["val/loss"])
        verdict: Verdict = ""
        if not math.isfinite(values["val/loss"]):
            verdict = "diverged"
        elif self.reports_steps and trainer.is_global_zero:
            step, value = self._step(trainer), values[self.metric]
            self.reports.append((step, value))
            self.trial.report(value, step)
            verdict = "pruned" if self.trial.should_prune() else ""
        self.verdict = trainer.strategy.broadcast(verdict)
        if self.verdict:
            trainer.should_stop = True

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Record the cost of the trial."""
        if trainer.is_global_zero:
            self._account()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Record the cost of the trial."""
        self.on_train_end(trainer, pl_module)

    def _account(self) -> None:
        self.trial.set_user_attr(COST, total([self.spent, self.cost]))

    def state_dict(self) -> dict[str, Any]:
        """Return the attributes that a resumed training needs."""
        return {name: getattr(self, name) for name in STATE}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of a dead worker."""
        for name, value in state_dict.items():
            setattr(self, name, value)

    @property
    def scores(self) -> dict[str, float | str]:
        """The values that sort a tracker's tables of trials."""
        return {
            TRIAL_BLEU: self.best_bleu,
            "trial/loss": self.lowest_loss,
            "trial/state": self.verdict or "finished",
        }

    def _step(self, trainer: pl.Trainer) -> int:
        return round(TRIAL_STEPS * (self.done + budget_of(trainer).share) / self.seeds)


def end_by(verdict: Verdict) -> None:
    """Raise the exception of a verdict, once the training has freed its device."""
    if verdict == "pruned":
        raise optuna.TrialPruned
    if verdict == "diverged":
        raise DivergedError("the validation loss is NaN or infinite")
