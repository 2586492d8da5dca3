"""After tuning: the best settings of each variant on fresh seeds, as runs to be compared."""

import logging
from collections.abc import Sequence
from pathlib import Path

import optuna
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from datamodules.errors import UserError
from datamodules.files import write_json
from lightning_modules.redaction import redacted
from lightning_modules.run_folder import FAILURE
from lightning_modules.tasks.train import train
from sweeps.studies.compose import as_job
from sweeps.studies.places import SLOT
from sweeps.studies.planned import Planned, Tuned
from sweeps.studies.space import as_overrides
from sweeps.studies.study import reason

log = logging.getLogger(__name__)

VARIANT, SEED = "variant", "seed"


def plan_final(name: str, tuned: Tuned, storage: BaseStorage) -> optuna.Study:
    """Make places for the final trainings, one for each variant and seed; what is there stays."""
    study = optuna.create_study(
        study_name=_name(name), storage=storage, direction="maximize", load_if_exists=True
    )
    known = {(one.user_attrs[VARIANT], one.user_attrs[SEED]) for one in study.get_trials()}
    pairs = [(variant, seed) for variant in tuned.variants for seed in tuned.seeds]
    for slot, (variant, seed) in enumerate(pairs):
        if (variant, seed) not in known:
            study.enqueue_trial({}, user_attrs={SLOT: slot, VARIANT: variant, SEED: seed})
    return study


def open_final(name: str, storage: BaseStorage) -> optuna.Study:
    """Open what ``plan_final`` has made."""
    return optuna.load_study(study_name=_name(name), storage=storage)


def _name(comparison: str) -> str:
    return f"{comparison}-final"


def train_final(
    trial: optuna.Trial, studies: Sequence[Planned], storage: BaseStorage, out: Path
) -> float:
    """Train and test a variant with its best settings; return test BLEU.

    Raises ``UserError`` if no trial of the variant finished, and what training raises; either is
    left in the run's folder, so that the comparison names it.
    """
    variant, seed = trial.user_attrs[VARIANT], trial.user_attrs[SEED]
    folder = out / str(trial.user_attrs[SLOT])
    planned = next(one for one in studies if one.variant == variant)
    overrides = [*planned.overrides, f"seed={seed}"]
    try:
        overrides += as_overrides(best_of(planned, storage).params)
        with as_job(overrides, folder) as config:
            score = train(config)
            assert score is not None  # a worker is rank zero
            return score
    except Exception as error:
        told = {"variant": variant, "seed": seed, "overrides": redacted(overrides)}
        write_json(folder / FAILURE, told | {"error": reason(error)})
        raise


def best_of(planned: Planned, storage: BaseStorage) -> optuna.trial.FrozenTrial:
    """The best trial of a study. Raises ``UserError`` if none finished."""
    study = optuna.load_study(study_name=planned.sweep.name, storage=storage)
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        raise UserError(f"study {planned.sweep.name}: no trial finished")
    return study.best_trial
