"""Progress of a training and time left: a log line for each validation, and a file."""

import logging
import time
from pathlib import Path

import pytorch_lightning as pl

from lightning_modules.runs.schema import JobState
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
    """Keep ``progress.json`` in ``folder`` up to date, at most once a second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clock = Clock()
        self._written = 0.0
        self._bleu: float | None = None

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that training begins."""
        self._clock.start(budget_of(trainer))
        self._write(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: object) -> None:
        """Write the progress."""
        if time.perf_counter() - self._written >= EVERY_SECONDS:
            self._write(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the new BLEU."""
        self._bleu = float(trainer.callback_metrics["val/bleu"])
        self._write(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that the test begins."""
        self._write(trainer, "testing")

    def _write(self, trainer: pl.Trainer, doing: str = "training") -> None:
        self._written = time.perf_counter()
        budget = budget_of(trainer)
        state = JobState(
            doing=doing,
            updates=trainer.global_step,
            share=budget.share,
            tokens_per_second=budget.tokens_per_second,
            val_bleu=self._bleu,
            seconds_left=self._clock.left(budget),
        )
        write_state(self.folder, state)
