"""A W&B run as Lightning's logger."""

import logging
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import wandb
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from lightning_modules.tracking.mode import in_a_line, sync_command, within

log = logging.getLogger(__name__)

STEP = "trainer/global_step"
CURVE = "bleu_by_length"
LENGTH = f"{CURVE}/length"
BY_STEP = (
    "train/loss",
    "train/learning_rate",
    "train/teacher_forcing",
    "train/gradient_norm",
    "train/target_tokens",
    "train/target_tokens_per_second",
    "train/peak_memory_mib",
    "val/loss",
    "val/bleu",
    "attention/validation",
)
BY_LENGTH = (f"{CURVE}/bleu", f"{CURVE}/sentences")


class Tracker(Logger):
    """A W&B run that training never waits for nor fails with.

    Every call goes through ``tell``. The first that fails is told in one line; what was logged
    before stays in W&B's folder, and nothing more is tracked.

    Args:
        run: a started one.
        artifacts: whether the best checkpoint and the predictions are to be kept as artifacts.
    """

    def __init__(self, run: wandb.Run, artifacts: bool = False) -> None:
        super().__init__()
        self.artifacts = artifacts
        self._run = run
        self._failed = False
        self.tell(_define_metrics)

    @property
    def name(self) -> str:
        """The project."""
        return str(self._run.project)

    @property
    def version(self) -> str:
        """The run's id."""
        return str(self._run.id)

    @property
    def sync_command(self) -> str:
        """What sends the run to W&B later."""
        return sync_command(Path(self._run.dir).parent)

    def tell(self, what: Callable[[wandb.Run], object], seconds: float | None = None) -> None:
        """Do something with the run; give up after ``seconds`` if it may ask the server."""
        if not self._failed:
            self._attempt(partial(what, self._run), seconds)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log a row of history; the step is a metric, since W&B's own counts rows."""
        row = dict(metrics) if step is None else {**metrics, STEP: step}
        self.tell(lambda run: run.log(row))

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Add to the run's configuration."""
        known = vars(params) if isinstance(params, Namespace) else dict(params)
        self.tell(lambda run: run.config.update(known, allow_val_change=True))

    def close(self, exit_code: int = 0) -> None:
        """End the run, so that the next job of this process gets its own."""
        self._attempt(partial(self._run.finish, exit_code=exit_code))

    def _attempt(self, call: Callable[[], object], seconds: float | None = None) -> None:
        try:
            if seconds is None:
                call()
            else:
                within(seconds, call)
        except Exception as error:
            if not self._failed:
                log.warning("W&B stopped (%s); later: %s", in_a_line(error), self.sync_command)
            self._failed = True


def _define_metrics(run: wandb.Run) -> None:
    """Say against what each metric is drawn. By exact names: of patterns, W&B takes any."""
    run.define_metric(STEP, hidden=True)
    for name in BY_STEP:
        run.define_metric(name, step_metric=STEP, step_sync=False)
    run.define_metric(LENGTH, hidden=True, summary="none")
    for name in BY_LENGTH:
        run.define_metric(name, step_metric=LENGTH, step_sync=False, summary="none")
