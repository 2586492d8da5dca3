"""The training budget, in real target tokens, and an account of what it bought."""

import hashlib
import time
from typing import Any

import pytorch_lightning as pl
from pydantic import PositiveInt, validate_call

from datamodules.batching import Batch
from lightning_modules.environment import peak_memory_mib
from lightning_modules.ranks.sharing import begins_update, ends_update


class TokenBudget(pl.Callback):
    """Stop after ``target_tokens`` real target tokens (EOS counted, padding not).

    All variants see the same batches, so they stop after the same one. ``data_order`` chains the
    sentence numbers of every batch seen: two runs with equal values saw the same sentences in the
    same batches in the same order. Every rank counts whole updates, so that all know the same.
    """

    @validate_call
    def __init__(self, target_tokens: PositiveInt) -> None:
        self.target_tokens = target_tokens
        self.seen_tokens = 0
        self.seconds = 0.0
        self.data_order = ""
        self._started = 0.0

    @property
    def share(self) -> float:
        """Of the budget spent, 0 to 1."""
        return min(1.0, self.seen_tokens / self.target_tokens)

    @property
    def tokens_per_second(self) -> float:
        """Real target tokens trained on per second, validation left out."""
        return self.seen_tokens / self.seconds if self.seconds else 0.0

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Start the clock with the first piece of an update."""
        if begins_update(trainer, batch_idx):
            self._started = time.perf_counter()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Count with its last, and ask the trainer to stop when the budget is spent."""
        if not ends_update(trainer, batch_idx):
            return
        ids = batch.update_ids.cpu().numpy().tobytes()  # on a GPU, this waits for the update
        self.seconds += time.perf_counter() - self._started
        self.seen_tokens += batch.update_tokens
        self.data_order = hashlib.sha256(self.data_order.encode() + ids).hexdigest()[:16]
        if trainer.global_step % trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            pl_module.log("train/target_tokens", float(self.seen_tokens))
            pl_module.log("train/target_tokens_per_second", self.tokens_per_second)
            pl_module.log("train/peak_memory_mib", peak_memory_mib())
        if self.seen_tokens >= self.target_tokens:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """Return the account so far."""
        return {
            "seen_tokens": self.seen_tokens,
            "seconds": self.seconds,
            "data_order": self.data_order,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up an earlier account."""
        for name, value in state_dict.items():
            setattr(self, name, value)
