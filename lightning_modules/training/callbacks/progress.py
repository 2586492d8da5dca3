"""Progress of a run and time left: a log line for each validation, a file for the terminal."""

import logging
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from lightning_modules.runs.schema import TRAINING, VALIDATION, JobState
from lightning_modules.runs.writer import write_state
from lightning_modules.training.callbacks.budget import TrainingBudget, budget_of
from lightning_modules.training.callbacks.history import History

log = logging.getLogger(__name__)

EVERY_SECONDS = 1.0


class Clock:
    """Estimate the time left, at the pace since the training began or was resumed."""

    def start(self, budget: TrainingBudget) -> None:
        """Start the clock, and remember which share of the budget is already spent."""
        self._started, self._share = time.perf_counter(), budget.share

    def left(self, budget: TrainingBudget) -> float | None:
        """Return the seconds left; None before the first update."""
        done = budget.share - self._share
        elapsed = time.perf_counter() - self._started
        return elapsed / done * (1 - budget.share) if done else None


class ProgressLines(pl.Callback):
    """Print share of the budget, losses, BLEU, speed and time left, prefixed by ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._clock = Clock()

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log that training begins."""
        self._clock.start(budget_of(trainer))
        parameters = sum(p.numel() for p in pl_module.parameters())
        log.info("%s  training, %s parameters", self.name, f"{parameters:,}")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log the line."""
        budget = budget_of(trainer)
        left = self._clock.left(budget) or 0.0
        metrics = trainer.callback_metrics
        log.info(
            "%s  %3.0f%%  %s tokens  loss %.3f  val loss %.3f  BLEU %5.2f  %s tokens/s  %s left",
            self.name,
            100 * budget.share,
            f"{budget.cost['target_tokens']:,}",
            mean_loss(trainer),
            float(metrics["val/loss"]),
            float(metrics["val/bleu"]),
            f"{budget.tokens_per_second:,.0f}",
            f"{left // 60:.0f}:{left % 60:02.0f}",
        )


def mean_loss(trainer: pl.Trainer) -> float:
    """Return the training loss since the validation before; NaN without ``History``."""
    histories = [c for c in trainer.callbacks if isinstance(c, History)]  # type: ignore[attr-defined]
    return histories[0].points[-1].train_loss if histories else float("nan")


class ProgressFile(pl.Callback):
    """Keep ``progress.json`` in ``folder`` up to date, in a training at most once a second.

    The terminal reads the file: the bar of a run, the table of a comparison or a study.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clock = Clock()
        self._written = 0.0
        self._state = JobState(doing="")

    def enter(self, phase: str) -> None:
        """Write that a phase begins, such as ``scoring``."""
        self._write(doing=phase)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that training begins."""
        self._clock.start(budget_of(trainer))
        self._write(**_trained(trainer), doing=TRAINING)

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: object) -> None:
        """Write the progress."""
        if self._is_due:
            self._write(**_trained(trainer), seconds_left=self._clock.left(budget_of(trainer)))

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that the training waits for a validation."""
        self._write(**_trained(trainer), doing=VALIDATION)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the new BLEU."""
        left = self._clock.left(budget_of(trainer))
        bleu = float(trainer.callback_metrics["val/bleu"])
        self._write(doing=TRAINING, val_bleu=bleu, seconds_left=left)

    def on_predict_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, *_: Any
    ) -> None:
        """Write how many batches of the phase are done."""
        if self._is_due:
            phase = self._state.doing.partition(",")[0]
            share = (batch_idx + 1) / trainer.num_predict_batches[0]
            self._write(doing=f"{phase}, {share:.0%}")

    @property
    def _is_due(self) -> bool:
        return time.perf_counter() - self._written >= EVERY_SECONDS

    def _write(self, **changes: Any) -> None:
        self._written = time.perf_counter()
        self._state = self._state.model_copy(update=changes)
        write_state(self.folder, self._state)


def _trained(trainer: pl.Trainer) -> dict[str, Any]:
    budget = budget_of(trainer)
    return {
        "updates": trainer.global_step,
        "share": budget.share,
        "tokens_per_second": budget.tokens_per_second,
    }


def enter_phase(trainer: pl.Trainer, phase: str) -> None:
    """Let the trainer's progress file, if the trainer has one, say that a phase begins."""
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, ProgressFile):
            callback.enter(phase)
