"""Task: one worker. It takes trials from the storage until all of all studies have ended."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import optuna
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from sweeps.errors import as_user_error
from sweeps.studies.final import open_final, train_final
from sweeps.studies.places import (
    REASON,
    SLOT,
    WORKER,
    has_signed,
    here,
    running,
    superfluous,
    take_up_lost,
    wait_again,
    waiting,
)
from sweeps.studies.planned import Planned, planned
from sweeps.studies.process import DiedError, run_apart
from sweeps.studies.settings import Sweep
from sweeps.studies.space import as_overrides, suggest
from sweeps.studies.storage import open_storage, quiet
from sweeps.studies.study import open_study, reason, trial_folder
from sweeps.studies.trial import train_trial

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 1.0
"""Of a worker without work, at those that may yet die."""
Objective = Callable[[optuna.Trial], float | list[float]]
Work = Sequence[tuple[optuna.Study, Objective]]


def work(config: DictConfig) -> None:
    """Let a process of its own take trials, and another one whenever it dies of a trial.

    So whoever started this job need not start it again, and its neighbours do not notice. Raises
    ``DiedError`` if the process died without having taken any.
    """
    quiet()
    _tell_of_trials_alone()
    while True:
        try:
            run_apart(take_trials, config)
            return
        except DiedError as death:
            if not run_apart(has_taken, config, death.worker):
                raise
            log.warning("worker %s died; another goes on", config.sweep.worker)


def take_trials(config: DictConfig) -> None:
    """Take one trial after the other; stay until no other worker can lose one."""
    studies, out = planned(config, HydraConfig.get()), Path(HydraConfig.get().sweep.dir)
    sweep = studies[0].sweep
    storage = open_storage(sweep, out)
    searches = [
        (open_study(one.sweep, storage, sweep.worker), partial(train_place, planned=one))
        for one in studies
    ]
    drain(searches, storage, sweep)
    if "tuned" in config:
        final = partial(train_final, studies=studies, storage=storage, out=out)
        drain([(open_final(config.comparison_name, storage), final)], storage, sweep)


def has_taken(config: DictConfig, worker: str) -> bool:
    """Whether a worker of these studies has ever taken a trial."""
    studies = planned(config, HydraConfig.get())
    storage = open_storage(studies[0].sweep, Path(HydraConfig.get().sweep.dir))
    opened = [open_study(one.sweep, storage) for one in studies]
    if "tuned" in config:
        opened.append(open_final(config.comparison_name, storage))
    return any(has_signed(study, worker) for study in opened)


def drain(work: Work, storage: BaseStorage, sweep: Sweep) -> None:
    """Take trials from one study after the other until none waits or runs."""
    while True:
        for study, _ in work:
            take_up_lost(study, storage, sweep)
        ready = next(((study, task) for study, task in work if waiting(study)), None)
        if ready is not None:
            work_once(*ready)
        elif any(running(study) for study, _ in work):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        else:
            return


def work_once(study: optuna.Study, task: Objective) -> None:
    """Take a trial, with a heartbeat while it runs, and tell what came of it."""

    def objective(trial: optuna.Trial) -> float | list[float]:
        if SLOT not in trial.user_attrs:
            trial.set_user_attr(REASON, "another worker was quicker to take the last place")
            raise optuna.TrialPruned
        if superfluous(study, trial):
            trial.set_user_attr(REASON, "planned twice")
            raise optuna.TrialPruned
        trial.set_user_attr(WORKER, here())
        try:
            return task(trial)
        except optuna.TrialPruned:
            raise
        except KeyboardInterrupt:
            wait_again(study, trial)
            raise
        except Exception as error:
            trial.set_user_attr(REASON, reason(error))
            if as_user_error(error) is None:
                log.exception("trial %s", trial.user_attrs[SLOT])
            raise
        finally:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    try:
        study.optimize(objective, n_trials=1, catch=(Exception,), callbacks=[_tell])
    except (UpdateFinishedTrialError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith("Cannot tell a "):
            raise
        # As after a restart of the database that took longer than a worker may be silent.
        log.warning("a trial was given to another worker meanwhile")


def train_place(trial: optuna.Trial, planned: Planned) -> list[float]:
    """Choose settings for a trial of a study, and train it."""
    slot = trial.user_attrs[SLOT]
    chosen = as_overrides(suggest(trial, planned.sweep.space))
    log.info("%s trial %s  %s", planned.sweep.name, slot, " ".join(chosen))
    folder = trial_folder(planned.folder, slot)
    return train_trial(trial, planned.sweep, [*planned.overrides, *chosen], folder)


def _tell(study: optuna.Study, trial: FrozenTrial) -> None:
    if trial.state == TrialState.COMPLETE:
        outcome = ", ".join(f"{value:.6g}" for value in trial.values)
    else:
        outcome = trial.user_attrs.get(REASON, trial.state.name.lower())
    log.info("%s trial %s  %s", study.study_name, trial.user_attrs.get(SLOT, "-"), outcome)


def _tell_of_trials_alone() -> None:
    """On the terminal; the worker's own file has the course of every training too."""
    for handler in logging.getLogger().handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(lambda record: record.name.startswith("sweeps."))
