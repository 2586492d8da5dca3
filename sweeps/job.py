"""One Hydra job: its task, and what becomes of an error."""

import logging
import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from datamodules.files import write_json
from lightning_modules.job_state import QUIET
from lightning_modules.redaction import job_overrides, redact_files, redacted
from lightning_modules.run_folder import FAILURE
from sweeps.errors import as_user_error, stop
from sweeps.parent import end_with_parent

log = logging.getLogger(__name__)

SECONDS_TO_SAVE = 60.0
"""What the jobs of a command that was killed get for a last checkpoint."""


def run_job(config: DictConfig) -> float | None:
    """Run ``config.task`` and return its score.

    In a multirun an error is written to the job's ``failure.json``, so that the other jobs go on;
    a defect leaves its traceback in the job's log too.
    """
    if os.environ.get(QUIET):
        _leave_console()
    _end_with_command()
    hydra = HydraConfig.get()
    redact_files(Path(hydra.runtime.output_dir).glob(".hydra/*.yaml"))
    redact_files(Path(hydra.sweep.dir).glob("multirun.yaml"))
    try:
        missing = sorted(OmegaConf.missing_keys(config))
        if missing:
            raise UserError(f"{missing[0]} has no value: give {missing[0]}=...")
        with _devices(config):
            score: float | None = get_method(config.task)(config)
        return score
    except Exception as error:
        mistake = as_user_error(error)
        if hydra.mode == RunMode.MULTIRUN:
            _record_failure(config, mistake or error)
            return None
        if mistake is None:
            raise
        stop(f"error: {mistake}", 2)  # here: Hydra puts a line of its own before what it re-raises


@cache  # one worker has many jobs
def _end_with_command() -> None:
    """Let a worker of joblib save and end when the command that started it is killed."""
    end_with_parent(SECONDS_TO_SAVE)


def _devices(config: DictConfig) -> AbstractContextManager[None]:
    if config.devices.gpus_per_job == 0:
        return nullcontext()
    from sweeps.leases import leased  # torch, which takes seconds

    return leased(config)


def _leave_console() -> None:
    """Log to the job's file alone."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if not isinstance(handler, logging.FileHandler):
            root.removeHandler(handler)


def _record_failure(config: DictConfig, error: Exception) -> None:
    hydra = HydraConfig.get()
    text = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    line = redacted(" ".join(text.split()))
    log.error("%s seed %s failed: %s", config.variant, config.seed, line)
    if not isinstance(error, UserError):
        log.error("traceback", exc_info=error)
    failure = {
        "variant": config.variant,
        "seed": config.seed,
        "overrides": job_overrides(),
        "error": line,
    }
    write_json(Path(hydra.runtime.output_dir) / FAILURE, failure)
