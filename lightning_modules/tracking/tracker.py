"""A W&B run as Lightning's logger."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb
from pydantic import PositiveFloat, validate_call
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from lightning_modules.tracking.failsafe_run import FailsafeRun
from lightning_modules.tracking.mode import Mode
from lightning_modules.tracking.names import STEP, define_metrics
from lightning_modules.tracking.start import start_run


class Tracker(FailsafeRun, Logger):
    """The run of a training.

    Args:
        run: a started run.
        artifacts: whether to keep the best checkpoint and the predictions as artifacts.
    """

    def __init__(self, run: wandb.Run, artifacts: bool = False) -> None:
        Logger.__init__(self)
        FailsafeRun.__init__(self, run)
        self.artifacts = artifacts
        self.send(define_metrics)

    @property
    def name(self) -> str:
        """The project, which Lightning calls the name."""
        return self.project

    @property
    def version(self) -> str:
        """The run's id."""
        return self.id

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log a row of history; the step is a metric, since W&B's own counts rows."""
        row = dict(metrics) if step is None else {**metrics, STEP: step}
        self.send(lambda run: run.log(row))

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Add to the run's configuration."""
        self.describe(vars(params) if isinstance(params, Namespace) else params)


@validate_call
def wandb_logger(
    project: str,
    name: str,
    group: str,
    tags: list[str],
    save_dir: Path,
    folder: Path,
    mode: Mode = "auto",
    artifacts: bool = False,
    finish_seconds: PositiveFloat = 4.0,
    job_type: str = "train",
) -> Tracker:
    """Start the W&B run of a training; see ``start_run``, which raises ``UserError``."""
    labels: dict[str, Any] = {"project": project, "name": name, "group": group, "tags": tags}
    run = start_run(save_dir, folder, mode, finish_seconds, job_type=job_type, **labels)
    return Tracker(run, artifacts)
