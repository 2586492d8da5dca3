"""One worker of studies: it takes trials from the queue in the storage until all have ended."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import optuna
import torch
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState

from sweeps.launch.errors import as_user_error
from sweeps.launch.job import end_with_parent
from sweeps.studies.plan import REASON, SLOT, StudyPlan, open_study, reason, trial_folder
from sweeps.studies.settings import as_overrides, shown_value, suggest
from sweeps.studies.storage import open_storage, silence_optuna, wait_for_storage
from sweeps.studies.trial import train_trial

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # polling interval of a worker that waits for the last trials of other workers
Objective = Callable[[optuna.Trial], list[float] | float]
Returned = TypeVar("Returned")


def work(plans: Sequence[StudyPlan], out: Path, number: int) -> None:
    """Let a process take trials, and start another one whenever a trial kills the process.

    So a trial that kills its process disturbs neither the launcher nor the other workers. Raises
    ``BrokenProcessPool`` if the process died before it took a trial.
    """
    with _trials_only():
        while True:
            begun = run_in_fork(trials_begun, plans, out)
            try:
                run_in_fork(take_trials, plans, out, number)
                return
            except BrokenProcessPool:
                if run_in_fork(trials_begun, plans, out) == begun:
                    raise
                log.warning("worker %s died; another continues", number)


def run_in_fork(task: Callable[..., Returned], *arguments: object) -> Returned:
    """Call ``task`` in a fork of this process, which never outlives this process."""
    with ProcessPoolExecutor(1, get_context("fork"), end_with_parent) as pool:
        return pool.submit(task, *arguments).result()


def trials_begun(plans: Sequence[StudyPlan], out: Path) -> int:
    """Return the number of trials that a worker has ever taken."""
    silence_optuna()
    storage = open_storage(plans[0].sweep, out)
    studies = [open_study(plan.sweep, storage) for plan in plans]
    trials = [trial for study in studies for trial in study.get_trials(deepcopy=False)]
    return sum(trial.state != TrialState.WAITING for trial in trials)


def take_trials(plans: Sequence[StudyPlan], out: Path, number: int) -> None:
    """Take trials of all studies until none waits and no other worker can lose one."""
    silence_optuna()
    sweep = plans[0].sweep
    while True:
        try:
            storage = open_storage(sweep, out)
            studies = [open_study(plan.sweep, storage, number) for plan in plans]
            run_all([(s, partial(train_slot, plan=p)) for s, p in zip(studies, plans, strict=True)])
            return
        except StorageInternalError as error:
            log.warning("the storage was lost (%s)", error)
            wait_for_storage(sweep, out)


def run_all(searches: Sequence[tuple[optuna.Study, Objective]]) -> None:
    """Take trials of one study after the other until none waits or runs."""
    while True:
        for study, _ in searches:
            fail_stale_trials(study)
        ready = next((each for each in searches if _has(each[0], TrialState.WAITING)), None)
        if ready is not None:
            _empty_queue(*ready)
        elif any(_has(study, TrialState.RUNNING) for study, _ in searches):
            time.sleep(POLL_SECONDS)
        else:
            return


def _has(study: optuna.Study, state: TrialState) -> bool:
    return bool(study.get_trials(deepcopy=False, states=(state,)))


def _empty_queue(study: optuna.Study, task: Objective) -> None:
    """Run trials until none waits, with a heartbeat each, and record their outcomes."""
    taken: list[int] = []

    def objective(trial: optuna.Trial) -> list[float] | float:
        taken.append(trial.number)
        return _outcome(study, task, trial)

    try:
        study.optimize(objective, catch=(Exception,), callbacks=[_end_trial])
    except (UpdateFinishedTrialError, ValueError):
        if not taken or study.trials[taken[-1]].state == TrialState.RUNNING:
            raise
        # For instance after a restart of the database that took longer than the heartbeat allows.
        log.warning("trial %s was given to another worker meanwhile", taken[-1])


def _outcome(study: optuna.Study, task: Objective, trial: optuna.Trial) -> list[float] | float:
    if SLOT not in trial.user_attrs:
        trial.set_user_attr(REASON, "another worker took the last trial of the queue")
        raise optuna.TrialPruned
    try:
        return task(trial)
    except optuna.TrialPruned:
        raise
    except (KeyboardInterrupt, StorageInternalError):
        frozen = next(one for one in study.get_trials() if one.number == trial.number)
        RetryHeartbeatStaleTrialCallback()(study, frozen)
        raise
    except Exception as error:
        trial.set_user_attr(REASON, reason(error))
        if as_user_error(error) is None:
            log.exception("trial %s", trial.user_attrs[SLOT])
        raise
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def train_slot(trial: optuna.Trial, plan: StudyPlan) -> list[float]:
    """Choose settings for a trial of the queue, and train it."""
    slot = trial.user_attrs[SLOT]
    chosen = suggest(trial, plan.sweep.space)
    shown = " ".join(f"{name}={shown_value(value)}" for name, value in chosen.items())
    log.info("%s trial %s  %s", plan.sweep.name, slot, shown)
    overrides = [*plan.overrides, *as_overrides(chosen)]
    return train_trial(trial, plan, overrides, trial_folder(plan.folder, slot))


def _end_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Log a trial, and stop the worker's turn if no other trial waits."""
    if trial.state == TrialState.COMPLETE:
        outcome = ", ".join(map(shown_value, trial.values))
    else:
        outcome = trial.user_attrs.get(REASON, trial.state.name.lower())
    log.info("%s trial %s  %s", study.study_name, trial.user_attrs.get(SLOT, "-"), outcome)
    if not _has(study, TrialState.WAITING):
        study.stop()


@contextmanager
def _trials_only() -> Iterator[None]:
    """Keep all but the trials off the terminal; the file of the worker has every record."""
    filtered, handlers = logging.Filter("sweeps"), logging.getLogger().handlers
    shown = [handler for handler in handlers if not isinstance(handler, logging.FileHandler)]
    for handler in shown:
        handler.addFilter(filtered)
    try:
        yield
    finally:
        for handler in shown:
            handler.removeFilter(filtered)
