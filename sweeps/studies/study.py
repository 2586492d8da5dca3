"""A study: the trials it is to have, and what makes it another one."""

import logging
import os
import socket
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import optuna
import torch
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import (
    BaseStorage,
    RetryHeartbeatStaleTrialCallback,
    fail_stale_trials,
)
from optuna.trial import FrozenTrial, TrialState

from datamodules.errors import UserError
from lightning_modules.redaction import redacted
from sweeps.errors import as_user_error
from sweeps.studies.methods import build_pruner, build_sampler
from sweeps.studies.settings import Sweep
from sweeps.studies.space import grid

log = logging.getLogger(__name__)

SLOT, IDENTITY, WORKER, REASON = "slot", "identity", "worker", "reason"
"""Attributes of trials and of studies."""
NOT_OF_A_STUDY = ("sweep.", "outputs=", "cache_dir=", "logger", "hydra")
"""Overrides that may be others when the study goes on; what matters of a sweep is compared."""


def open_study(sweep: Sweep, storage: BaseStorage, number: int = 0) -> optuna.Study:
    """Open a study that ``plan`` has made, for the worker of this number."""
    return optuna.load_study(
        study_name=sweep.name,
        storage=storage,
        sampler=build_sampler(sweep, number),
        pruner=build_pruner(sweep),
    )


def plan(sweep: Sweep, storage: BaseStorage, overrides: Sequence[str]) -> optuna.Study:
    """Make the study or find it again, and give it as many places for trials as it lacks.

    A place is a waiting trial, which a worker takes and no other can: the storage alone hands
    them out. Raises ``UserError`` for a study of another space, or with other settings.
    """
    study = optuna.create_study(
        study_name=sweep.name,
        storage=storage,
        directions=sweep.directions,
        load_if_exists=True,
    )
    study.set_metric_names(list(sweep.objectives))
    identity = _identity(sweep, overrides)
    known = study.user_attrs.get(IDENTITY)
    if known is None:
        study.set_user_attr(IDENTITY, identity)
    elif known != identity:
        other = next(key for key in identity if known.get(key) != identity[key])
        raise UserError(
            f"sweep.name={sweep.name}: there is a study of this name with another {other}; give "
            "its settings to go on with it, or another sweep.name to begin one"
        )
    first = [*sweep.known, *(grid(sweep.space) if sweep.sampler == "grid" else [])]
    wanted = len(first) if sweep.sampler == "grid" else sweep.trials
    taken = {trial.user_attrs.get(SLOT) for trial in study.get_trials(deepcopy=False)}
    for slot in range(wanted):
        if slot not in taken:
            study.enqueue_trial(first[slot] if slot < len(first) else {}, user_attrs={SLOT: slot})
    return study


def _identity(sweep: Sweep, overrides: Sequence[str]) -> dict[str, Any]:
    """What two trials of one study must share."""
    return {
        "search space": {name: one.model_dump() for name, one in sweep.space.items()},
        "objectives": list(sweep.objectives),
        "seeds": sweep.seeds,
        "list of overrides": sorted(
            redacted([one for one in overrides if not one.startswith(NOT_OF_A_STUDY)])
        ),
    }


def waiting(study: optuna.Study) -> bool:
    """Whether there is a place left to take."""
    return bool(study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))


def running(study: optuna.Study) -> bool:
    """Whether another worker is still at it, and may die."""
    return bool(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def here() -> str:
    """This process, as trials remember their workers."""
    return f"{socket.gethostname()}:{os.getpid()}"


def take_up_lost(study: optuna.Study, storage: BaseStorage, sweep: Sweep) -> None:
    """Give the places of dead workers to others: of this machine at once, else by heartbeat."""
    fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if _is_dead(trial.user_attrs.get(WORKER, "")):
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


def reason(error: Exception) -> str:
    """Why a trial has no value, in a line."""
    if isinstance(error, torch.OutOfMemoryError):
        return "out of memory"
    mistake = as_user_error(error)
    text = str(mistake) if mistake else f"{type(error).__name__}: {error}"
    return str(redacted(" ".join(text.split())))


def _is_dead(worker: str) -> bool:
    host, _, process = worker.rpartition(":")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def trial_folder(folder: Path, slot: int) -> Path:
    """Where the trial of a place is trained, by whatever worker."""
    return folder / "trials" / f"{slot:04d}"
