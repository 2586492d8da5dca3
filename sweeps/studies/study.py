"""A study: the trials it is to have, and what makes it another one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
import torch
from optuna.storages import BaseStorage

from datamodules.errors import UserError
from lightning_modules.redaction import redacted
from sweeps.errors import as_user_error
from sweeps.studies.methods import build_pruner, build_sampler
from sweeps.studies.places import fill
from sweeps.studies.settings import Sweep
from sweeps.studies.space import grid

IDENTITY = "identity"
"""Attribute of a study: what all of its trials share."""
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

    Raises ``UserError`` for a study of another space, or with other settings.
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
    fill(study, first, wanted, sweep.retries)
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


def reason(error: Exception) -> str:
    """Why a trial has no value, in a line."""
    if isinstance(error, torch.OutOfMemoryError):
        return "out of memory"
    mistake = as_user_error(error)
    text = str(mistake) if mistake else f"{type(error).__name__}: {error}"
    return str(redacted(" ".join(text.split())))


def trial_folder(folder: Path, slot: int) -> Path:
    """Where the trial of a place is trained, by whatever worker."""
    return folder / "trials" / f"{slot:04d}"
