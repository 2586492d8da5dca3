"""The budget of a training, and its history."""

import hashlib
import logging
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
from pydantic import validate_call

from datamodules.batching import Batch, EncodedPairs
from datamodules.errors import UserError
from lightning_modules.kernels.device import peak_device_memory_mib, runs_ahead, wait_for
from lightning_modules.ranks.updates import UpdateCallback, callback_of, flags_of, gather
from lightning_modules.runs.files import write_history
from lightning_modules.runs.provenance import peak_memory_mib
from lightning_modules.runs.schema import HistoryPoint
from lightning_modules.training.budgets import KINDS, Budget, Cost, Update, find_kind
from lightning_modules.training.flops import Flops
from lightning_modules.training.losses import losses_of
from lightning_modules.training.validations import VAL_BLEU, VAL_LOSS, VAL_SPREAD

log = logging.getLogger(__name__)


class TrainingBudget(UpdateCallback):
    """Stop after the update that spends the budget.

    All variants see the same batches, so all stop after the same update if the budget is in target
    tokens or updates. ``data_order`` is a hash of the sentence numbers of all batches so far: two
    runs with equal values saw the same sentences in the same batches in the same order. Every rank
    counts whole updates, so all ranks have the same counts.

    Logs costs, and as ``data/waited`` the share of the time that updates waited for batches.
    """

    @validate_call
    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.kinds = {name: find_kind(name) for name in dict.fromkeys([*KINDS, budget.kind])}
        self.cost: Cost = dict.fromkeys(self.kinds, 0)  # the cost so far, by kind of budget
        self.pairs: EncodedPairs  # the training sentences, set before the training
        self.flops: Flops  # FLOPs of sentence pairs by their lengths, set before the training
        self.data_order = ""
        self.data_order_at: dict[int, str] = {}
        """``data_order`` after 1, 2, 4, 8, … updates, to compare trainings of unequal length."""
        self.waited = 0.0  # seconds that updates waited for batches
        self._started = 0.0
        self._begun = 0.0, 0.0
        self._logged = 0.0, 0.0
        self._waited_before = 0.0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks stop when any rank has spent the budget."""
        flags_of(trainer).add("spent", lambda: self.is_spent)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clocks; a training that continues has spent a share already."""
        self._begun = time.perf_counter(), self.share
        self._logged = self.waited, self.cost["seconds"]
        self._waited_before = self.waited

    @property
    def share(self) -> float:
        """Share of the budget that is spent, 0 to 1."""
        return min(1.0, self.cost[self.budget.kind] / self.budget.amount)

    @property
    def tokens_per_second(self) -> float:
        """Real target tokens trained on per second, validation left out."""
        seconds = self.cost["seconds"]
        return self.cost["target_tokens"] / seconds if seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds left at the pace since the training began or continued; None at its start."""
        begun, before = self._begun
        done = self.share - before
        return (time.perf_counter() - begun) / done * (1 - self.share) if done else None

    @property
    def waited_share(self) -> float:
        """Share of the whole training in which updates waited for batches."""
        whole = self.waited + self.cost["seconds"]
        return self.waited / whole if whole else 0.0

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop if another rank has spent its budget; start the clock with an update's first piece.

        Ranks agree on a budget of seconds, for example, when they exchange their flags: the update
        before which they do so is the last.
        """
        trainer.should_stop |= flags_of(trainer)["spent"]
        self._started = time.perf_counter()

    def on_update_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch
    ) -> None:
        """Count an update at its last piece; stop the trainer when the budget is spent."""
        ids = batch.update_ids
        logs = trainer.global_step % trainer.log_every_n_steps == 0  # type: ignore[attr-defined]
        if logs:
            wait_for(pl_module.device)
        seconds = time.perf_counter() - self._started
        flops = float(self.flops.of_lengths(*batch.update_lengths).sum())
        self._spend(Update(ids, self.pairs, batch.update_tokens, flops, seconds))
        order = self.data_order.encode() + ids.tobytes()
        self.data_order = hashlib.sha256(order).hexdigest()[:16]
        updates = int(self.cost["updates"])
        if updates.bit_count() == 1:
            self.data_order_at[updates] = self.data_order
        feed: Any = trainer.train_dataloader
        self.waited = self._waited_before + feed.waited
        if logs:
            self._log(pl_module)
        alone = trainer.world_size == 1 or self.kinds[self.budget.kind].equal_on_ranks
        trainer.should_stop |= alone and self.is_spent

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Count what a GPU has still to do in a training, not in a test."""
        if trainer.training or trainer.validating:
            self.finish_updates(pl_module)

    def finish_updates(self, pl_module: pl.LightningModule) -> None:
        """Count the time in which a GPU still computes the last updates, before other work."""
        if runs_ahead(pl_module.device):  # a run that is only tested again counts nothing
            started = time.perf_counter()
            wait_for(pl_module.device)
            self.cost["seconds"] += time.perf_counter() - started

    @property
    def is_spent(self) -> bool:
        """Whether the budget is spent."""
        return self.cost[self.budget.kind] >= self.budget.amount

    def _log(self, pl_module: pl.LightningModule) -> None:
        pl_module.log("train/target_tokens", float(self.cost["target_tokens"]))
        pl_module.log("train/target_tokens_per_second", self.tokens_per_second)
        pl_module.log("train/peak_memory_mib", peak_memory_mib())
        device_memory = peak_device_memory_mib(pl_module.device)
        if device_memory is not None:
            pl_module.log("train/peak_device_memory_mib", device_memory)
        now = self.waited, self.cost["seconds"]
        waited, trained = (here - before for here, before in zip(now, self._logged, strict=True))
        pl_module.log("data/waited", waited / (waited + trained))
        self._logged = now

    def _spend(self, update: Update) -> None:
        """Add the cost of an update. Raises ``UserError`` for a cost that cannot be added."""
        for name, kind in self.kinds.items():
            cost: object = kind.cost(update)
            if not (isinstance(cost, int | float | np.number) and 0 <= cost < math.inf):
                raise UserError(
                    f"budget.kind={name}: {type(kind).__name__}.cost returns {cost!r}, but a "
                    "number is needed, finite and not below 0"
                )
            self.cost[name] += cost.item() if isinstance(cost, np.number) else cost

    def state_dict(self) -> dict[str, Any]:
        """Return the counts so far."""
        return {
            "cost": dict(self.cost),
            "waited": self.waited,
            "data_order": self.data_order,
            "data_order_at": dict(self.data_order_at),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the counts of an earlier training, which may have had another kind of budget."""
        for name, value in state_dict.items():
            setattr(self, name, value)
        self.cost = {name: self.cost[name] for name in self.kinds}


def budget_of(trainer: pl.Trainer) -> TrainingBudget:
    """Return the budget callback of a trainer."""
    return callback_of(trainer, TrainingBudget)


def is_budget_spent(trainer: pl.Trainer) -> bool:
    """Return whether the budget is spent: all ranks stop when any rank has spent it."""
    return budget_of(trainer).is_spent or flags_of(trainer)["spent"]


HISTORY = "history"  # key of the history in a checkpoint


class History(UpdateCallback):
    """Rewrite ``history.csv`` in ``folder`` after each validation.

    The training loss is the mean over the target tokens since the previous validation, with label
    smoothing, and the gradient norm the mean over the updates; ``TrainingBudget`` counts the tokens
    and seconds, validation left out.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.points: list[HistoryPoint] = []
        self.updates: list[int] = []  # number of updates before each point
        self._tokens = 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the points of an earlier training, which may have been complete."""
        if self.points and trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_update_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch
    ) -> None:
        """Count the tokens of an update."""
        self._tokens += batch.update_tokens

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add a point, and write the file."""
        loss = sum(self._totals(trainer, pl_module)) / trainer.world_size
        norms, updates = losses_of(pl_module).norms
        budget, spread = budget_of(trainer), trainer.callback_metrics.get(VAL_SPREAD)
        point = HistoryPoint(
            target_tokens=int(budget.cost["target_tokens"]),
            seconds=round(budget.cost["seconds"], 3),
            train_loss=loss / self._tokens,
            val_loss=float(trainer.callback_metrics[VAL_LOSS]),
            val_bleu=float(trainer.callback_metrics[VAL_BLEU]),
            attention_spread=None if spread is None else float(spread),
            learning_rate=float(trainer.optimizers[0].param_groups[0]["lr"]),
            gradient_norm=norms / updates if updates else None,
        )
        losses_of(pl_module).total, losses_of(pl_module).norms, self._tokens = 0.0, (0.0, 0), 0
        self.points.append(point)
        self.updates.append(trainer.global_step)
        if trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the points so far, and the sums for the next point: of losses, of each rank."""
        checkpoint[HISTORY] = {
            "points": [point.model_dump() for point in self.points],
            "updates": list(self.updates),
            "losses": self._totals(trainer, pl_module),
            "norms": losses_of(pl_module).norms,
            "tokens": self._tokens,
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore points and sums of an earlier training, maybe with another number of ranks."""
        saved = checkpoint[HISTORY]
        losses = saved["losses"]
        self.points = [HistoryPoint(**point) for point in saved["points"]]
        self.updates = list(saved["updates"])
        same_ranks = len(losses) == trainer.world_size
        own = losses[trainer.global_rank] if same_ranks else sum(losses) / len(losses)
        losses_of(pl_module).total, self._tokens = own, saved["tokens"]
        norms, updates = saved["norms"]
        losses_of(pl_module).norms = norms, updates

    def _totals(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> list[float]:
        """Return the sum of the losses of each rank since the last point."""
        losses_of(pl_module).read()
        return gather(trainer, losses_of(pl_module).total)
