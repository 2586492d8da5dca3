"""One line for each validation: where training stands and when it will end."""

import logging
import time

import pytorch_lightning as pl

from lightning_modules.callbacks.budget import TokenBudget

log = logging.getLogger(__name__)


class ProgressLines(pl.Callback):
    """Print share of the budget, losses, BLEU, speed and time left, prefixed by ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._started = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Say what begins."""
        self._started = time.perf_counter()
        parameters = sum(p.numel() for p in pl_module.parameters())
        log.info("%s  training, %s parameters", self.name, f"{parameters:,}")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the line."""
        budget = next(c for c in trainer.callbacks if isinstance(c, TokenBudget))  # type: ignore[attr-defined]
        share = min(1.0, budget.seen_tokens / budget.target_tokens)
        elapsed = time.perf_counter() - self._started
        left = elapsed / share - elapsed if share else 0.0
        metrics = trainer.callback_metrics
        log.info(
            "%s  %3.0f%%  %s tokens  loss %.3f  val loss %.3f  BLEU %5.2f  %s tokens/s  %s left",
            self.name,
            100 * share,
            f"{budget.seen_tokens:,}",
            float(metrics.get("train/loss", float("nan"))),
            float(metrics["val/loss"]),
            float(metrics["val/bleu"]),
            f"{budget.tokens_per_second:,.0f}",
            f"{left // 60:.0f}:{left % 60:02.0f}",
        )
