"""Callbacks of the training loop: budget, history, progress, checkpoints, examples.

``last.ckpt`` is the checkpoint from which an interrupted training continues to the last bit.
Lightning counts batches and validations in ways that are exact at the end of an epoch only: a
checkpoint of its own between two updates validates one update late. So the counts are set here.
"""

import hashlib
import logging
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
from pydantic import validate_call
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.batching import Batch, EncodedPairs
from datamodules.errors import UserError
from datamodules.files import keep_file
from lightning_modules.kernels import precision
from lightning_modules.kernels.device import peak_device_memory_mib, runs_ahead, wait_for
from lightning_modules.library_internals import correct_step_count
from lightning_modules.ranks.updates import UpdateCallback, callback_of, flags_of, gather
from lightning_modules.runs.files import write_history, write_record
from lightning_modules.runs.paths import EARLIER, LAST, PROGRESS
from lightning_modules.runs.provenance import peak_memory_mib
from lightning_modules.runs.schema import TRAINING, VALIDATION, HistoryPoint, JobState
from lightning_modules.runs.settings import flatten
from lightning_modules.runs.trunk_checks import schedule_that_ends
from lightning_modules.training.budgets import KINDS, Budget, Cost, Update, find_kind, plateau_of
from lightning_modules.training.flops import Flops
from lightning_modules.training.losses import losses_of
from lightning_modules.training.module import TranslationModule
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
    smoothing; ``TrainingBudget`` counts the tokens and seconds, validation left out.
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
        budget, spread = budget_of(trainer), trainer.callback_metrics.get(VAL_SPREAD)
        point = HistoryPoint(
            target_tokens=int(budget.cost["target_tokens"]),
            seconds=round(budget.cost["seconds"], 3),
            train_loss=loss / self._tokens,
            val_loss=float(trainer.callback_metrics[VAL_LOSS]),
            val_bleu=float(trainer.callback_metrics[VAL_BLEU]),
            attention_spread=None if spread is None else float(spread),
        )
        losses_of(pl_module).total, self._tokens = 0.0, 0
        self.points.append(point)
        self.updates.append(trainer.global_step)
        if trainer.is_global_zero:
            write_history(self.folder, self.points)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the points so far, and the loss sum of each rank for the next point."""
        checkpoint[HISTORY] = {
            "points": [point.model_dump() for point in self.points],
            "updates": list(self.updates),
            "losses": self._totals(trainer, pl_module),
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

    def _totals(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> list[float]:
        """Return the sum of the losses of each rank since the last point."""
        losses_of(pl_module).read()
        return gather(trainer, losses_of(pl_module).total)


EVERY_SECONDS, EVERY_LINE = 1.0, 30.0


class ProgressLines(pl.Callback):
    """Print share of the budget, losses, BLEU, speed and time left, prefixed by ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log that training begins."""
        parameters = sum(p.numel() for p in pl_module.parameters())
        log.info("%s  training, %s parameters", self.name, f"{parameters:,}")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log the line."""
        budget = budget_of(trainer)
        left = budget.seconds_left or 0.0
        metrics = trainer.callback_metrics
        log.info(
            "%s  %3.0f%%  %s tokens  loss %.3f  val loss %.3f  BLEU %5.2f  %s tokens/s  %s left",
            self.name,
            100 * budget.share,
            f"{budget.cost['target_tokens']:,}",
            mean_loss(trainer),
            float(metrics[VAL_LOSS]),
            float(metrics[VAL_BLEU]),
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
        self._written, self._logged, self._sentences = 0.0, time.perf_counter(), 0
        self._state = JobState(doing="")

    def enter(self, phase: str) -> None:
        """Write that a phase begins, such as ``scoring``."""
        self._write(doing=phase)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that training begins."""
        self._write(**_trained(trainer), doing=TRAINING)

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: object) -> None:
        """Write the progress."""
        if self._is_due:
            self._write(**_trained(trainer), seconds_left=budget_of(trainer).seconds_left)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write that the training waits for a validation."""
        self._write(**_trained(trainer), doing=VALIDATION)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the new BLEU."""
        left = budget_of(trainer).seconds_left
        bleu = float(trainer.callback_metrics[VAL_BLEU])
        self._write(doing=TRAINING, val_bleu=bleu, seconds_left=left)

    def on_predict_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, *_: Any
    ) -> None:
        """Write how many sentences of the phase are done; without a terminal, log it now and then.

        The ranks translate at the same speed, so that the first stands for all.
        """
        self._sentences = (self._sentences if batch_idx else 0) + len(outputs) * trainer.world_size
        if self._is_due:
            phase = self._state.doing.partition(",")[0]
            loader: Any = trainer.predict_dataloaders
            count = len(loader.dataset)
            done = min(self._sentences, count)
            self._write(doing=f"{phase}, {done:,} of {count:,} sentences")
            if not sys.stdout.isatty() and self._written - self._logged >= EVERY_LINE:
                self._logged = self._written
                log.info("%s", self._state.doing)

    @property
    def _is_due(self) -> bool:
        return time.perf_counter() - self._written >= EVERY_SECONDS

    def _write(self, **changes: Any) -> None:
        self._written = time.perf_counter()
        self._state = self._state.model_copy(update=changes)
        write_record(self.folder / PROGRESS, self._state)


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


class ExampleTranslations(pl.Callback):
    """At each validation, print source, reference and hypothesis of the same ``count`` sentences.

    The examples are spread over the validation sentences, short and long.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the examples."""
        if not trainer.is_global_zero:
            return
        assert isinstance(pl_module, TranslationModule)
        text = trainer.datamodule.text("val")  # type: ignore[attr-defined]
        ids = sorted(pl_module.validated)
        for number in range(min(self.count, len(ids))):
            chosen = ids[(2 * number + 1) * len(ids) // (2 * self.count)]
            log.info("  source      %s", text.source[chosen])
            log.info("  reference   %s", text.target[chosen])
            log.info("  hypothesis  %s", pl_module.validated[chosen])


RESUME = "resume"  # key in a checkpoint: state between two updates that Lightning does not keep
SHARE_OF_SAVING = 0.01
"""Largest share of the training time that saving takes: large models save less often."""


class ResumeCheckpoint(UpdateCallback):
    """Keep a checkpoint from which a training continues exactly as if it had never stopped.

    The checkpoint is written between two updates, when validation, best checkpoint and schedule
    step of the earlier update are done: before the first update, after every validation, every so
    many ``minutes``, at the end, and when SIGTERM or Ctrl-C ends the training. A training with a
    larger budget may not have the last validation: it continues from the state before, which is
    kept with the best checkpoints until then.

    List this callback before ``TrainingBudget``, whose clock then leaves the saving out.
    """

    def __init__(self, folder: str, minutes: float) -> None:
        self.file = Path(folder) / LAST
        self.minutes = minutes
        self._due = 0.0
        self._validate = self._stop = False

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Stand between two updates, before the batches of the epoch that were not seen yet.

        Products are computed as before, so that the training continues to the last digit on
        another processor too.
        """
        saved = checkpoint[RESUME]
        precision.use_products(saved["products"])
        is_longer = Path(str(trainer.ckpt_path)).resolve() != self.file.resolve()
        self._validate = saved["validate"] and (saved["due"] or not is_longer)
        plateau = plateau_of(checkpoint["hyper_parameters"])
        goes_on = saved["spent"] or plateau != budget_of(trainer).budget.plateau
        self._stop = saved["stop"] and not (is_longer and goes_on)
        move_best_checkpoint(checkpoint, Path(os.path.realpath(self.file.parent)))
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        epoch, done = divmod(checkpoint["global_step"], data.updates_per_epoch)
        data.skip_updates(done)
        turns = trainer.accumulate_grad_batches  # Lightning counts batches of one rank
        checkpoint["loops"]["fit_loop"] |= _between_updates(
            epoch, checkpoint["global_step"] * turns, done * turns
        )

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks save when the first rank wants to."""
        due = lambda: trainer.is_global_zero and time.monotonic() >= self._due  # noqa: E731
        flags_of(trainer).add("save", due)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do the validation that was due."""
        if self._validate:
            validate_now(trainer)
        trainer.should_stop |= self._stop

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save if the time has come."""
        correct_step_count(trainer)
        if flags_of(trainer)["save"]:
            self._save(trainer)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep the state before the last validation, if a longer training can continue from it."""
        is_end = trainer.state.fn == TrainerFn.FITTING and trainer.should_stop
        if is_end and schedule_that_ends(flatten(pl_module.hparams)) is None:
            self._keep_earlier(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save before the next update, so that ``last.ckpt`` and ``best.ckpt`` fit together."""
        self._due = 0.0

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save, so that an interrupted test can start again without training."""
        self._save(trainer)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Save where ``EndOnSignals`` ends the training, between two updates or in a validation."""
        if isinstance(exception, SIGTERMException) and trainer.state.fn == TrainerFn.FITTING:
            self._save(trainer)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Store what Lightning does not."""
        checkpoint[RESUME] = {
            "validate": trainer.validating,
            "due": is_validation_due(trainer),
            "stop": trainer.should_stop,
            "spent": is_budget_spent(trainer),
            "products": precision.products_in_use(),
        }

    def _keep_earlier(self, trainer: pl.Trainer) -> None:
        """Keep the best checkpoints, which the last validation may replace, and save the state."""
        if trainer.is_global_zero:
            for file in self.file.parent.glob(f"{EARLIER}*"):
                file.unlink()
            for callback in trainer.checkpoint_callbacks:
                for file in map(Path, getattr(callback, "best_k_models", ())):
                    if file.is_file() and file.resolve().parent == self.file.resolve().parent:
                        keep_file(file, self.file.with_name(f"{EARLIER}{file.name}"))
        trainer.save_checkpoint(self.file.with_name(f"{EARLIER}{self.file.name}"))

    def _save(self, trainer: pl.Trainer) -> None:
        started = time.monotonic()
        trainer.save_checkpoint(self.file)
        now = time.monotonic()
        self._due = now + max(60 * self.minutes, (now - started) / SHARE_OF_SAVING)


def is_validation_due(trainer: pl.Trainer) -> bool:
    """Return whether an update is validated also if the training does not end with it."""
    loop, epochs = trainer.fit_loop.epoch_loop, trainer.check_val_every_n_epoch
    if epochs is not None and (trainer.current_epoch + 1) % epochs:
        return False
    every = trainer.val_check_batch  # None where a time is given
    done = 1 + (loop.total_batch_idx if epochs is None else loop.batch_idx)
    return every is not None and done % every == 0


def validate_now(trainer: pl.Trainer) -> None:
    """Validate between two updates as Lightning does at the end of an update."""
    loop = trainer.fit_loop.epoch_loop
    loop.val_loop.restarting = False
    trainer.validating = True
    loop.val_loop.run()
    trainer.training = True
    loop.update_lr_schedulers("step", update_plateau_schedulers=True)
    correct_step_count(trainer)


def move_best_checkpoint(checkpoint: dict[str, Any], folder: Path) -> None:
    """Let the record of the best checkpoint name its file in ``folder``, where the run lies now.

    For another folder, Lightning would forget the best score.
    """

    def moved(path: str) -> str:
        return str(folder / Path(path).name) if path else path

    for state in checkpoint["callbacks"].values():
        if "best_model_path" in state:
            paths = ("best_model_path", "kth_best_model_path", "last_model_path")
            state |= {name: moved(state[name]) for name in paths}
            best = {moved(path): score for path, score in state["best_k_models"].items()}
            state |= {"dirpath": str(folder), "best_k_models": best}


def _between_updates(epoch: int, batches: int, batches_of_epoch: int) -> dict[str, Any]:
    """Return Lightning's counts before the next batch, when all validations are done."""
    return {
        "epoch_progress": {name: _counts(epoch + 1, epoch) for name in ("total", "current")},
        "epoch_loop.batch_progress": _batch_progress(batches, batches_of_epoch),
        "epoch_loop.val_loop.batch_progress": _batch_progress(0, 0),
    }


def _batch_progress(total: int, of_epoch: int) -> dict[str, Any]:
    counts = {"total": _counts(total, total), "current": _counts(of_epoch, of_epoch)}
    return {**counts, "is_last_batch": False}


def _counts(begun: int, done: int) -> dict[str, int]:
    return {"ready": begun, "started": begun, "processed": done, "completed": done}
