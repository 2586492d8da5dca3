"""The studies that a command asks for, and making each in its storage or finding it there."""

import logging
import socket
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
import psutil
import torch
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState
from pydantic import BaseModel, Field, NonNegativeInt

from datamodules.errors import UserError, validated
from lightning_modules.runs.identity import study_identity
from lightning_modules.runs.paths import STUDIES
from lightning_modules.runs.provenance import code_versions
from lightning_modules.runs.redaction import redacted
from sweeps.launch.compose import base_overrides, composed, use_hydra_config
from sweeps.launch.errors import as_user_error
from sweeps.studies.optuna_internals import storage_id
from sweeps.studies.settings import Sweep, Value, as_overrides, grid

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


IDENTITY = "identity"
"""Attribute of a study: what all of its trials share."""
LABELS = ("job_type", "group", "name")
"""Keys of a logger whose values tell the runs of a study from others."""


class Tuned(BaseModel, extra="forbid"):
    """The group ``tuned``: variants, each with the family whose space is searched."""

    variants: dict[str, str] = Field(min_length=1)
    seeds: list[NonNegativeInt] = Field(min_length=1)
    """Seeds of the final runs, which are compared."""


@dataclass(frozen=True)
class StudyPlan:
    """A study to make, or to go on with."""

    variant: str
    sweep: Sweep
    overrides: list[str]
    """Overrides that all of its trainings share."""
    code: str
    """Version of the code that trains."""
    folder: Path
    labels: tuple[str, ...]
    """Keys of the logger that label a trial; none for a logger without groups."""


def study_plans(config: DictConfig, hydra: Any) -> list[StudyPlan]:
    """Return the studies of a command line: one, or one for each tuned variant.

    ``hydra`` is the node of Hydra. Raises ``UserError`` for settings that cannot be used, such as
    seeds of trials among those of the final runs.
    """
    base, out = base_overrides(hydra.overrides.task), Path(hydra.sweep.dir)
    labels = _labels(config.logger)
    tuned = tuned_settings(config)
    if tuned is None:
        sweep = validated(Sweep, config.sweep, "sweep")
        code = code_versions(config).training
        return [StudyPlan(config.variant, sweep, _without_worker(base), code, out, labels)]
    plans = []
    for variant, family in tuned.variants.items():
        overrides = [*base, f"sweep={family}", f"model={variant}"]
        composed_config = _composed(overrides, f"tuned.variants.{variant}={family}")
        with use_hydra_config(composed_config):
            sweep = validated(Sweep, composed_config.sweep, "sweep")
        if len(sweep.objectives) > 1:
            raise UserError("sweep.objectives: comparison=tuned chooses by one; give one")
        seen = set(sweep.seeds) & set(tuned.seeds)
        if seen:
            raise UserError(
                f"tuned.seeds: {min(seen)} is a seed of the trials too; give fresh ones"
            )
        folder, code = out / STUDIES / variant, code_versions(composed_config).training
        plans.append(StudyPlan(variant, sweep, _without_worker(overrides), code, folder, labels))
    return plans


def _labels(logger: DictConfig) -> tuple[str, ...]:
    """Return the keys that label a trial, for a logger that puts runs into groups."""
    return tuple(key for key in LABELS if key in logger) if "group" in logger else ()


def _without_worker(overrides: list[str]) -> list[str]:
    return [override for override in overrides if not override.startswith("sweep.worker=")]


def tuned_settings(config: DictConfig) -> Tuned | None:
    """Return the group ``tuned``; None for a study of one variant. Raises ``UserError``."""
    return validated(Tuned, config.tuned, "tuned") if "tuned" in config else None


def check_space(study: StudyPlan) -> None:
    """Raise ``UserError`` for a parameter that is no override of Hydra."""
    for name, parameter in study.sweep.space.items():
        chosen: dict[str, Value] = {
            other: wanted[0] if isinstance(wanted, list) else wanted
            for other, wanted in parameter.when.items()
        }
        chosen[name] = parameter.example
        _composed([*study.overrides, *as_overrides(chosen)], f"sweep.space.{name}")


def _composed(overrides: list[str], option: str) -> DictConfig:
    try:
        return composed(overrides)
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(f"{option}: {as_user_error(error)}") from None


def open_study(sweep: Sweep, storage: BaseStorage, worker: int = 0) -> optuna.Study:
    """Open a study that ``create_study`` has made, for the worker of this number."""
    return optuna.load_study(
        study_name=sweep.name,
        storage=storage,
        sampler=sweep.make_sampler(worker),
        pruner=sweep.make_pruner(),
    )


def create_study(
    sweep: Sweep, storage: BaseStorage, overrides: Sequence[str], code: str
) -> optuna.Study:
    """Make a study or find it again, and enqueue the trials that it lacks.

    Raises ``UserError`` for a study of the same name with another space, other settings, or trials
    of another version of the code that trains, and for a sampler or pruner that cannot be made.
    """
    study = optuna.create_study(
        study_name=sweep.name,
        storage=storage,
        sampler=sweep.make_sampler(),
        pruner=sweep.make_pruner(),
        directions=sweep.directions,
        load_if_exists=True,
    )
    study.set_metric_names(list(sweep.objectives))
    space = {name: one.model_dump() for name, one in sweep.space.items()}
    identity = study_identity(overrides, code, space, sweep.objectives, sweep.seeds)
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
    enqueue_missing(study, first, wanted, sweep.retries)
    return study


def reason(error: Exception) -> str:
    """Return in one line why a trial has no value."""
    if isinstance(error, torch.OutOfMemoryError):
        return "out of memory"
    mistake = as_user_error(error)
    text = str(mistake) if mistake else f"{type(error).__name__}: {error}"
    return str(redacted(" ".join(text.split())))


def trial_folder(folder: Path, slot: int) -> Path:
    """Return the folder of the trial of a slot, the same for every worker."""
    return folder / "trials" / f"{slot:04d}"


def seed_folder(trial: Path, seed: int) -> Path:
    """Return the folder of one training of a trial."""
    return trial / f"seed-{seed}"
