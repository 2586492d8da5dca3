"""Task: one worker of a study. It takes trials from the storage until all have ended."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import optuna
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from sweeps.launch.errors import as_user_error
from sweeps.launch.job import end_with_parent
from sweeps.studies.final_runs import open_final, train_final
from sweeps.studies.plan import (
    REASON,
    SLOT,
    WORKER,
    StudyPlan,
    is_duplicate,
    open_study,
    reason,
    requeue_dead,
    requeue_interrupted,
    running,
    study_plans,
    trial_folder,
    waiting,
    was_claimed_by,
    worker_id,
)
from sweeps.studies.settings import Sweep, as_overrides, shown_value, suggest
from sweeps.studies.storage import open_storage, silence_optuna
from sweeps.studies.trial import train_trial

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Polling interval of an idle worker, in seconds."""
Objective = Callable[[optuna.Trial], float | list[float]]
Work = Sequence[tuple[optuna.Study, Objective]]
Returned = TypeVar("Returned")


class Worker(NamedTuple):
    """What one worker takes trials for."""

    plans: Sequence[StudyPlan]
    out: Path
    """The folder of the studies, and of the final runs."""
    number: int
    comparison: str | None
    """The comparison whose final runs follow the studies; None without one."""

    @classmethod
    def of(cls, config: DictConfig, hydra: Any) -> "Worker":
        """Read the configuration of a worker; ``hydra`` is the node of Hydra."""
        plans, out = study_plans(config, hydra), Path(hydra.sweep.dir)
        comparison = config.comparison_name if "tuned" in config else None
        return cls(plans, out, config.sweep.worker, comparison)

    @property
    def storage(self) -> BaseStorage:
        """A new connection to the storage of the studies."""
        return open_storage(self.plans[0].sweep, self.out)


class DiedError(RuntimeError):
    """A process was killed, or ended without a result."""

    def __init__(self, worker: str) -> None:
        super().__init__("a worker died before it took a trial")
        self.worker = worker
        """The id by which trials remember the process."""


def work(config: DictConfig) -> None:
    """Task: let a process take trials, and start another one whenever a trial kills the process.

    So a trial that kills its process disturbs neither the launcher nor the other workers. Raises
    ``DiedError`` if the process died before it took a trial.
    """
    worker = Worker.of(config, HydraConfig.get())
    silence_optuna()
    _show_trials_only()
    while True:
        try:
            run_in_fork(take_trials, worker)
            return
        except DiedError as death:
            if not run_in_fork(has_taken, worker, death.worker):
                raise
            log.warning("worker %s died; another goes on", worker.number)


def run_in_fork(task: Callable[..., Returned], *arguments: object) -> Returned:
    """Call ``task`` in a fork of this process, which never outlives this process.

    Raises what the task raises, and ``DiedError``.
    """
    with ProcessPoolExecutor(1, get_context("fork"), end_with_parent) as pool:
        process = pool.submit(worker_id).result()
        try:
            return pool.submit(task, *arguments).result()
        except BrokenProcessPool:
            raise DiedError(process) from None


def take_trials(worker: Worker) -> None:
    """Take one trial after the other, until no trial waits and no other worker can lose one."""
    storage, sweep = worker.storage, worker.plans[0].sweep
    searches = [
        (open_study(plan.sweep, storage, worker.number), partial(train_slot, plan=plan))
        for plan in worker.plans
    ]
    run_all(searches, storage, sweep)
    if worker.comparison is not None:
        final = partial(train_final, plans=worker.plans, storage=storage, out=worker.out)
        run_all([(open_final(worker.comparison, storage), final)], storage, sweep)


def has_taken(worker: Worker, process: str) -> bool:
    """Whether a process has ever taken a trial of these studies."""
    storage = worker.storage
    studies = [open_study(plan.sweep, storage) for plan in worker.plans]
    if worker.comparison is not None:
        studies.append(open_final(worker.comparison, storage))
    return any(was_claimed_by(study, process) for study in studies)


def run_all(work: Work, storage: BaseStorage, sweep: Sweep) -> None:
    """Take trials of one study after the other until none waits or runs."""
    while True:
        for study, _ in work:
            requeue_dead(study, storage, sweep)
        ready = next(((study, task) for study, task in work if waiting(study)), None)
        if ready is not None:
            run_one(*ready)
        elif any(running(study) for study, _ in work):
            time.sleep(POLL_SECONDS)
        else:
            return


def run_one(study: optuna.Study, task: Objective) -> None:
    """Take a trial, with a heartbeat while it runs, and record its outcome."""

    def objective(trial: optuna.Trial) -> float | list[float]:
        if SLOT not in trial.user_attrs:
            trial.set_user_attr(REASON, "another worker took the last slot")
            raise optuna.TrialPruned
        if is_duplicate(study, trial):
            trial.set_user_attr(REASON, "planned twice")
            raise optuna.TrialPruned
        trial.set_user_attr(WORKER, worker_id())
        try:
            return task(trial)
        except optuna.TrialPruned:
            raise
        except KeyboardInterrupt:
            requeue_interrupted(study, trial)
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
        study.optimize(objective, n_trials=1, catch=(Exception,), callbacks=[_log_trial])
    except (UpdateFinishedTrialError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith("Cannot tell a "):
            raise
        # For instance after a restart of the database that took longer than the heartbeat allows.
        log.warning("a trial was given to another worker meanwhile")


def train_slot(trial: optuna.Trial, plan: StudyPlan) -> list[float]:
    """Choose settings for the trial of a slot, and train it."""
    slot = trial.user_attrs[SLOT]
    chosen = suggest(trial, plan.sweep.space)
    shown = " ".join(f"{name}={shown_value(value)}" for name, value in chosen.items())
    log.info("%s trial %s  %s", plan.sweep.name, slot, shown)
    overrides = [*plan.overrides, *as_overrides(chosen)]
    return train_trial(trial, plan, overrides, trial_folder(plan.folder, slot))


def _log_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    if trial.state == TrialState.COMPLETE:
        outcome = ", ".join(map(shown_value, trial.values))
    else:
        outcome = trial.user_attrs.get(REASON, trial.state.name.lower())
    log.info("%s trial %s  %s", study.study_name, trial.user_attrs.get(SLOT, "-"), outcome)


def _show_trials_only() -> None:
    """Keep all but the trials off the terminal; the file of the worker has every record."""
    for handler in logging.getLogger().handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(lambda record: record.name.startswith("sweeps."))
