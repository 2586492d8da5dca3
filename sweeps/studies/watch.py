"""What a study sees of a training, and how it ends one."""

import math
from typing import Any, Literal

import optuna
import pytorch_lightning as pl
import wandb

from lightning_modules.budgets import Cost, total
from lightning_modules.callbacks import DivergedError, budget_of
from lightning_modules.tracking.names import TRIAL_BLEU
from sweeps.studies.places import COST
from sweeps.studies.settings import Sweep

WHOLE = 100
"""Steps of a trial: hundredths of what it may cost, over all of its seeds."""
STATE = ("best_bleu", "lowest_loss", "verdict", "reports", "cost")
"""What a watch of an interrupted training leaves to the next."""

Verdict = Literal["", "pruned", "diverged"]


class Watch(pl.Callback):
    """Tell a trial every validation, and stop when the study has seen enough.

    All ranks of a training stop together; the first alone speaks with the storage.

    Args:
        trial: of which the training is one.
        sweep: what is told, and whether it prunes.
        done: seeds of the trial that were trained before this one.
        spent: what those have cost.
    """

    def __init__(self, trial: optuna.Trial, sweep: Sweep, done: int, spent: Cost) -> None:
        self.trial = trial
        self.tells = sweep.pruner in ("median", "hyperband")
        self.metric = "val/loss" if sweep.objectives[0] == "loss" else "val/bleu"
        self.done, self.seeds = done, len(sweep.seeds)
        self.spent = spent
        self.best_bleu, self.lowest_loss = -math.inf, math.inf
        self.verdict: Verdict = ""
        self.reports: list[tuple[int, float]] = []
        self.cost: Cost = {}

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Tell what a dead worker had told: the trial that takes its place knows nothing of it."""
        if trainer.is_global_zero:
            self._repeat()

    def take_over(self, reports: list[tuple[int, float]], cost: Cost) -> None:
        """Tell all of a training that a dead worker had finished."""
        self.reports, self.cost = reports, cost
        self._repeat()
        self._account()

    def _repeat(self) -> None:
        if self.tells:
            for step, value in self.reports:
                self.trial.report(value, step)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Keep account of what the training has cost."""
        self.cost = budget_of(trainer).cost

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Report, and ask the trainer to stop."""
        found = {name: float(trainer.callback_metrics[name]) for name in ("val/bleu", "val/loss")}
        self.best_bleu = max(self.best_bleu, found["val/bleu"])
        self.lowest_loss = min(self.lowest_loss, found["val/loss"])
        verdict: Verdict = ""
        if not math.isfinite(found["val/loss"]):
            verdict = "diverged"
        elif self.tells and trainer.is_global_zero:
            step, value = self._step(trainer), found[self.metric]
            self.reports.append((step, value))
            self.trial.report(value, step)
            verdict = "pruned" if self.trial.should_prune() else ""
        self.verdict = trainer.strategy.broadcast(verdict)
        if self.verdict:
            trainer.should_stop = True

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Tell the trial what it has cost."""
        if trainer.is_global_zero:
            self._account()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Tell it then too."""
        self.on_train_end(trainer, pl_module)

    def _account(self) -> None:
        self.trial.set_user_attr(COST, total([self.spent, self.cost]))

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

    def _step(self, trainer: pl.Trainer) -> int:
        return round(WHOLE * (self.done + budget_of(trainer).share) / self.seeds)


def end_by(verdict: Verdict) -> None:
    """Raise what a training was stopped for, once it has ended and its device is free."""
    if verdict == "pruned":
        raise optuna.TrialPruned
    if verdict == "diverged":
        raise DivergedError("the validation loss is not a number")
