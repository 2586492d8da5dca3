"""One job of Hydra: its task, its GPUs, and the record of its error."""

import logging
import os
import shutil
import signal
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from datamodules.errors import UserError
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.job import QUIET, Job, given_overrides
from lightning_modules.runs.paths import CHECKPOINTS, FAILURE, HYDRA
from lightning_modules.runs.redaction import redact_files, redacted
from lightning_modules.runs.setting_checks import check_inputs, check_settings, tasks
from sweeps.launch.errors import as_user_error, stop
from sweeps.launch.folders import remove_traces
from sweeps.launch.jobs import check_missing, import_task
from sweeps.launch.resolvers import TASKS_OF_ONE_RUN, TRAIN
from sweeps.launch.run_record import check_text
from sweeps.launch.rungs import train_rungs

log = logging.getLogger(__name__)

SECONDS_TO_SAVE = 60.0  # time for the jobs of a killed command to save a last checkpoint
POLL_SECONDS = 0.5  # how often a process looks whether its parent lives


def run_job(config: DictConfig) -> float | None:
    """Run ``config.task`` and return its score.

    A job of several writes its error into its folder, as ``failure.json``, so that the other jobs
    continue; the traceback of a defect is in the log of the job.
    """
    if os.environ.get(QUIET):
        _leave_console()
    _end_with_command()
    hydra = HydraConfig.get()
    redact_files(Path(hydra.runtime.output_dir).glob(f"{HYDRA}/*.yaml"))
    try:
        check_settings(config, given_overrides(hydra))
        check_missing(config)
        if config.task not in TASKS_OF_ONE_RUN and not is_rank_zero():
            name = tasks()[config.task]
            raise UserError(f"task={name}: is for one process; start it without torchrun and srun")
        check_inputs(config, hydra.overrides.task)
        check_text(config)
        task = import_task(config.task)
        with verify_files(config.verify), _devices(config), _bar(config, hydra):
            has_rungs = config.task == TRAIN and config.budget.rungs
            left_over = train_rungs(config, hydra) if has_rungs else []
            score: float | None = task(config)
            for folder in left_over:
                shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        return score
    except Exception as error:
        mistake = as_user_error(error)
        if hydra.mode == RunMode.MULTIRUN:
            record_failure(config, Job.of(hydra), mistake or error)
            return None
        if mistake is None:
            raise
        remove_traces()
        stop(f"error: {mistake}", 2)  # now: Hydra would print a line of its own first


@cache  # one worker of joblib runs many jobs
def _end_with_command() -> None:
    """Let a worker of joblib save and end when the command that started it is killed."""
    end_with_parent(SECONDS_TO_SAVE)


def end_with_parent(seconds_to_save: float = 0.0) -> None:
    """Let this process end with its parent, if ``multiprocessing`` has started this process.

    With ``seconds_to_save`` the process gets SIGTERM first, on which a training saves a checkpoint.
    """
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        while os.getppid() == parent.pid:  # a worker of joblib cannot join its parent
            time.sleep(POLL_SECONDS)
        if seconds_to_save:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(seconds_to_save)
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _devices(config: DictConfig) -> AbstractContextManager[None]:
    if config.devices.gpus_per_job == 0:
        return nullcontext()
    from sweeps.launch.gpu_leases import leased  # imports torch, which takes seconds

    return leased(config)


def _bar(config: DictConfig, hydra: HydraConf) -> AbstractContextManager[None]:
    """Show a bar where a terminal shows one run."""
    alone = hydra.mode == RunMode.RUN and is_rank_zero()
    if not alone or config.task not in TASKS_OF_ONE_RUN or not sys.stdout.isatty():
        return nullcontext()
    from lightning_modules.runs.job import label_of, label_with_changes  # Rich is not for --help
    from sweeps.launch.live import live_bar

    overrides = given_overrides(hydra)
    label = label_with_changes(label_of(config.variant, overrides, config), overrides)
    return live_bar(Path(hydra.runtime.output_dir), f"{label} seed {config.seed}")


def _leave_console() -> None:
    """Log to the file of the job alone."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if not isinstance(handler, logging.FileHandler):
            root.removeHandler(handler)


def record_failure(config: DictConfig, job: Job, error: Exception) -> None:
    """Write the error of a training into its folder, and into the log."""
    from lightning_modules.runs.files import write_record
    from lightning_modules.runs.schema import Failure  # these import NumPy and SciPy

    text = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    line = redacted(" ".join(text.split()))
    log.error("%s seed %s failed: %s", config.variant, config.seed, line)
    if not isinstance(error, UserError):
        log.error("traceback", exc_info=error)
    seed = config.seed if isinstance(config.seed, int) else str(config.seed)
    failure = Failure(variant=str(config.variant), seed=seed, overrides=job.overrides, error=line)
    write_record(job.folder / FAILURE, failure)
