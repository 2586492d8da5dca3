"""The share of the training time in which the device waited for batches."""

from typing import Any

import pytorch_lightning as pl

from datamodules.batching import Batch, Feed
from lightning_modules.ranks.updates_across_ranks import ends_update
from lightning_modules.training.callbacks.budget import budget_of


class Waiting(pl.Callback):
    """Log ``data/waited``, the share of the time since the last logging, 0 to 1.

    The time is that of the updates, as the budget counts it, and of the waiting before them;
    validation is left out. List this callback after ``TrainingBudget``.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """Seconds waited so far, also in an earlier training that this one continues."""
        self._earlier = 0.0
        self._logged = 0.0, 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log from here on."""
        self._logged = self.seconds, budget_of(trainer).cost["seconds"]

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Read the clock of the feed."""
        feed = trainer.train_dataloader
        assert isinstance(feed, Feed)
        self.seconds = self._earlier + feed.waited

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Log the share at the usual steps."""
        due = trainer.global_step % trainer.log_every_n_steps == 0  # type: ignore[attr-defined]
        if not (due and ends_update(trainer, batch_idx)):
            return
        now = self.seconds, budget_of(trainer).cost["seconds"]
        waited, trained = (here - before for here, before in zip(now, self._logged, strict=True))
        pl_module.log("data/waited", waited / (waited + trained))
        self._logged = now

    def share(self, trainer: pl.Trainer) -> float:
        """Return the share over the whole training."""
        whole = self.seconds + budget_of(trainer).cost["seconds"]
        return self.seconds / whole if whole else 0.0

    def state_dict(self) -> dict[str, Any]:
        """Return the seconds waited so far."""
        return {"seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the seconds of an interrupted training."""
        self.seconds = self._earlier = state_dict["seconds"]
