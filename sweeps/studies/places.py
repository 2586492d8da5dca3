"""Places of a study: each trial it is to have waits in the storage, where one worker takes it."""

import logging
import socket
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import optuna
import psutil
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import (
    BaseStorage,
    RetryHeartbeatStaleTrialCallback,
    fail_stale_trials,
)
from optuna.trial import FrozenTrial, TrialState

from sweeps.studies.settings import Sweep

log = logging.getLogger(__name__)

SLOT, WORKER, REASON = "slot", "worker", "reason"
"""Attributes of trials: the number of the place, who took it, why it has no value."""
COST, BY_SEED = "cost", "by_seed"
"""What a trial has spent in every kind of budget, and the BLEU of each of its seeds."""
SAME_BEGINNING = 10.0
"""Seconds by which the beginning of a process seems to move when a clock is set."""
TIME_TO_SIGN = timedelta(minutes=1)
"""Of a worker that has taken a trial, before it tells which worker it is."""


def fill(study: optuna.Study, first: Sequence[dict[str, Any]], wanted: int, retries: int) -> None:
    """Let a trial wait for each of the ``wanted`` places that has none, with its first settings.

    A place has one as long as a trial of it waits, runs or has ended for a reason of its own. One
    whose worker was lost, and whose heir was too, has none.
    """
    trials: dict[int, list[FrozenTrial]] = defaultdict(list)
    for trial in study.get_trials(deepcopy=False):
        trials[trial.user_attrs.get(SLOT, -1)].append(trial)
    for slot in range(wanted):
        lost = [trial for trial in trials[slot] if _was_lost(trial)]
        if len(lost) == len(trials[slot]) <= retries:
            chosen = lost[-1].params if lost else {}
            known = first[slot] if slot < len(first) else {}
            study.enqueue_trial(chosen or known, user_attrs={SLOT: slot})


def superfluous(study: optuna.Study, trial: optuna.Trial) -> bool:
    """Whether its place has an older trial, as when two commands plan a study at a time."""
    return any(
        other.number < trial.number
        and other.user_attrs.get(SLOT) == trial.user_attrs[SLOT]
        and other.state != TrialState.FAIL
        for other in study.get_trials(deepcopy=False)
    )


def has_signed(study: optuna.Study, worker: str) -> bool:
    """Whether a worker has ever taken a trial."""
    return any(one.user_attrs.get(WORKER) == worker for one in study.get_trials(deepcopy=False))


def waiting(study: optuna.Study) -> bool:
    """Whether there is a place left to take."""
    return bool(study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))


def running(study: optuna.Study) -> bool:
    """Whether another worker is still at it, and may die."""
    return bool(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def here() -> str:
    """This process, as trials remember their workers: machine, number and when it began."""
    own = psutil.Process()
    return f"{socket.gethostname()}:{own.pid}:{own.create_time():.2f}"


def take_up_lost(study: optuna.Study, storage: BaseStorage, sweep: Sweep) -> None:
    """Give the places of dead workers to others: of this machine at once, else by heartbeat."""
    fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if _is_lost(trial):
            give_back(study, storage, trial, sweep.retries)


def give_back(study: optuna.Study, storage: BaseStorage, trial: FrozenTrial, retries: int) -> None:
    """Fail a trial whose worker is gone; with its parameters, its place waits for another."""
    try:
        storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    except UpdateFinishedTrialError:  # another worker was quicker
        return
    log.info("trial %s  its worker is gone", trial.user_attrs.get(SLOT))
    WaitAgain(retries)(study, trial)


class WaitAgain(RetryHeartbeatStaleTrialCallback):
    """Let the place of a lost trial wait, which no worker has signed yet."""

    def __call__(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Add the trial that waits, unless there were too many before it."""
        again = deepcopy(trial)
        again.user_attrs.pop(WORKER, None)
        super().__call__(study, again)


def wait_again(study: optuna.Study, trial: optuna.Trial) -> None:
    """Let the place of a trial that was interrupted wait, with its parameters."""
    frozen = next(one for one in study.get_trials() if one.number == trial.number)
    WaitAgain()(study, frozen)


def _was_lost(trial: FrozenTrial) -> bool:
    return trial.state == TrialState.FAIL and REASON not in trial.user_attrs


def _is_lost(trial: FrozenTrial) -> bool:
    if WORKER in trial.user_attrs:
        return _is_dead(trial.user_attrs[WORKER])
    assert trial.datetime_start is not None  # it runs
    return datetime.now() - trial.datetime_start > TIME_TO_SIGN


def _is_dead(worker: str) -> bool:
    host, process, began = worker.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    try:
        found = psutil.Process(int(process)).create_time()
    except psutil.NoSuchProcess:
        return True
    return abs(found - float(began)) > SAME_BEGINNING
