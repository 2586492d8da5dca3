"""How a training shows its progress: lines of the log, a file, and example translations."""

import logging
import sys
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from lightning_modules.runs.files import write_record
from lightning_modules.runs.paths import PROGRESS
from lightning_modules.runs.schema import TRAINING, VALIDATION, JobState
from lightning_modules.training.callbacks import History, budget_of
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.validations import VAL_BLEU, VAL_LOSS

log = logging.getLogger(__name__)

EVERY_SECONDS, EVERY_LINE = 1.0, 30.0
GOLDEN_RATIO = 0.618034


class ProgressLines(pl.Callback):
    """Print share of the budget, losses, BLEU and time left, prefixed by ``name``.

    A line has room in 80 columns; the bar of a terminal and the summary have the speed.
    """

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
            "%s  %3.0f%%  loss %.3f  val loss %.3f  BLEU %5.2f  %s left",
            self.name,
            100 * budget.share,
            mean_loss(trainer),
            float(metrics[VAL_LOSS]),
            float(metrics[VAL_BLEU]),
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
    """At each validation, print source, reference and hypothesis of ``count`` other sentences.

    They are spread over the validation sentences by steps of the golden ratio, so that any number
    of validations in a row shows short and long ones.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._shown = 0

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the examples."""
        if not trainer.is_global_zero:
            return
        assert isinstance(pl_module, TranslationModule)
        text = trainer.datamodule.text("val")  # type: ignore[attr-defined]
        ids = sorted(pl_module.validated)
        for _ in range(min(self.count, len(ids))):
            chosen = ids[int((0.5 + self._shown * GOLDEN_RATIO) % 1 * len(ids))]
            self._shown += 1
            log.info("  source      %s", text.source[chosen])
            log.info("  reference   %s", text.target[chosen])
            log.info("  hypothesis  %s", pl_module.validated[chosen])

    def state_dict(self) -> dict[str, Any]:
        """Return how many examples were printed."""
        return {"shown": self._shown}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on after the examples of an earlier training."""
        self._shown = state_dict["shown"]
