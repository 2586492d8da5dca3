"""Task: one worker of a study. It takes trials from the storage until all have ended."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

import optuna
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from lightning_modules.redaction import redacted
from sweeps.errors import as_user_error
from sweeps.studies.compose import base_overrides
from sweeps.studies.settings import Sweep, build_sweep
from sweeps.studies.space import as_overrides, suggest
from sweeps.studies.storage import open_storage, quiet
from sweeps.studies.study import (
    REASON,
    SLOT,
    WORKER,
    here,
    open_study,
    running,
    take_up_lost,
    trial_folder,
    wait_again,
    waiting,
)
from sweeps.studies.trial import train_trial

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 1.0
"""Of a worker without work, at those that may yet die."""


def work(config: DictConfig) -> None:
    """Take one trial after the other; stay until no other worker can lose one."""
    quiet()
    _tell_of_trials_alone()
    sweep, folder = build_sweep(config), Path(HydraConfig.get().sweep.dir)
    storage = open_storage(sweep, folder)
    study = open_study(sweep, storage, sweep.worker)
    overrides = base_overrides(HydraConfig.get().overrides.task)
    worker = Worker(sweep, storage, study, overrides, folder)
    while True:
        take_up_lost(study, storage, sweep)
        if waiting(study):
            worker.work_once()
        elif running(study):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        else:
            return


def _tell_of_trials_alone() -> None:
    """On the terminal; the worker's own file has the course of every training too."""
    for handler in logging.getLogger().handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(lambda record: record.name.startswith("sweeps."))


@dataclass(frozen=True)
class Worker:
    """What takes a trial and gives it back with its values, or with the reason why it has none."""

    sweep: Sweep
    storage: BaseStorage
    study: optuna.Study
    overrides: list[str]
    """Of every trial."""
    folder: Path
    """The study's."""

    def work_once(self) -> None:
        """Take a trial, with a heartbeat while it runs; after Ctrl-C its place waits again."""
        self.study.optimize(self.objective, n_trials=1, catch=(Exception,), callbacks=[told])

    def objective(self, trial: optuna.Trial) -> list[float]:
        """Train the trial of a place."""
        if SLOT not in trial.user_attrs:
            trial.set_user_attr(REASON, "another worker was quicker to take the last place")
            raise optuna.TrialPruned
        trial.set_user_attr(WORKER, here())
        chosen = as_overrides(suggest(trial, self.sweep.space))
        slot = trial.user_attrs[SLOT]
        log.info("trial %s  %s", slot, " ".join(chosen))
        folder = trial_folder(self.folder, slot)
        try:
            return train_trial(trial, self.sweep, [*self.overrides, *chosen], folder)
        except optuna.TrialPruned:
            raise
        except KeyboardInterrupt:
            wait_again(self.study, trial)
            raise
        except Exception as error:
            trial.set_user_attr(REASON, reason(error))
            if as_user_error(error) is None:
                log.exception("trial %s", slot)
            raise
        finally:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def reason(error: Exception) -> str:
    """Why a trial has no value, in a line."""
    if isinstance(error, torch.OutOfMemoryError):
        return "out of memory"
    mistake = as_user_error(error)
    text = str(mistake) if mistake else f"{type(error).__name__}: {error}"
    return str(redacted(" ".join(text.split())))


def told(study: optuna.Study, trial: FrozenTrial) -> None:
    """Say how a trial ended."""
    if trial.state == TrialState.COMPLETE:
        outcome = ", ".join(f"{value:.6g}" for value in trial.values)
    else:
        outcome = trial.user_attrs.get(REASON, trial.state.name.lower())
    log.info("trial %s  %s", trial.user_attrs.get(SLOT, "-"), outcome)
