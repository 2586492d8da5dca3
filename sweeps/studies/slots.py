"""Slots of a study: each planned trial waits in the storage until a worker takes the trial."""

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
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState

from sweeps.studies.optuna_internals import storage_id
from sweeps.studies.settings import Sweep

log = logging.getLogger(__name__)

SLOT, WORKER, REASON = "slot", "worker", "reason"
"""Attributes of trials: number of the slot, id of the worker, reason for a missing value."""
COST, BY_SEED = "cost", "by_seed"
"""Attributes of trials: cost by kind of budget, and validation BLEU of each seed."""
CLOCK_TOLERANCE_SECONDS = 10.0
"""Largest change of the recorded start of a process, as when a clock is set."""
TIME_TO_SIGN = timedelta(minutes=1)
"""Longest time between taking a trial and recording the id of the worker."""


def enqueue_missing(
    study: optuna.Study, first: Sequence[dict[str, Any]], wanted: int, retries: int
) -> None:
    """Enqueue a trial for each of the ``wanted`` slots that needs a trial.

    A slot needs a trial if it has none, or if the workers of all its trials died and there are at
    most ``retries`` such trials. The new trial gets the parameters of the last lost trial, or else
    the settings of its slot in ``first``.
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


def is_duplicate(study: optuna.Study, trial: optuna.Trial) -> bool:
    """Return whether the slot of a trial has an older trial, planned by another command."""
    return any(
        other.number < trial.number
        and other.user_attrs.get(SLOT) == trial.user_attrs[SLOT]
        and other.state != TrialState.FAIL
        for other in study.get_trials(deepcopy=False)
    )


def was_claimed_by(study: optuna.Study, worker: str) -> bool:
    """Return whether a worker has ever taken a trial."""
    return any(one.user_attrs.get(WORKER) == worker for one in study.get_trials(deepcopy=False))


def waiting(study: optuna.Study) -> bool:
    """Return whether a trial waits for a worker."""
    return bool(study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))


def running(study: optuna.Study) -> bool:
    """Return whether a worker still runs a trial, and may die."""
    return bool(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def worker_id() -> str:
    """Return the id of this process as a worker: machine, process number and start time."""
    process = psutil.Process()
    return f"{socket.gethostname()}:{process.pid}:{process.create_time():.2f}"


def requeue_dead(study: optuna.Study, storage: BaseStorage, sweep: Sweep) -> None:
    """Requeue the trials of dead workers: of this machine at once, else by heartbeat."""
    fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if _is_lost(trial):
            requeue(study, storage, trial, sweep.retries)


def requeue(study: optuna.Study, storage: BaseStorage, trial: FrozenTrial, retries: int) -> None:
    """Fail a trial whose worker is gone, and enqueue its slot with the same parameters."""
    try:
        storage.set_trial_state_values(storage_id(trial), TrialState.FAIL)
    except UpdateFinishedTrialError:  # another worker was quicker
        return
    log.info("trial %s  its worker is gone", trial.user_attrs.get(SLOT))
    RequeueTrial(retries)(study, trial)


class RequeueTrial(RetryHeartbeatStaleTrialCallback):
    """Enqueue the slot of a lost trial again, without the id of the lost worker."""

    def __call__(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Enqueue a trial, unless the slot was retried too often."""
        again = deepcopy(trial)
        again.user_attrs.pop(WORKER, None)
        super().__call__(study, again)


def requeue_interrupted(study: optuna.Study, trial: optuna.Trial) -> None:
    """Enqueue the slot of an interrupted trial again, with the same parameters."""
    frozen = next(one for one in study.get_trials() if one.number == trial.number)
    RequeueTrial()(study, frozen)


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
        start = psutil.Process(int(process)).create_time()
    except psutil.NoSuchProcess:
        return True
    return abs(start - float(began)) > CLOCK_TOLERANCE_SECONDS
