"""After tuning: the best settings of each variant on fresh seeds, as runs to be compared."""

import logging
from collections.abc import Sequence
from pathlib import Path

import optuna
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from datamodules.errors import UserError
from lightning_modules.runs.files import write_failure
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Failure
from lightning_modules.tasks.train import train_in
from sweeps.launch.compose import hydra_job
from sweeps.studies.plan import SLOT, StudyPlan, Tuned, reason
from sweeps.studies.settings import as_overrides

log = logging.getLogger(__name__)

VARIANT, SEED = "variant", "seed"


def plan_final(name: str, tuned: Tuned, storage: BaseStorage) -> optuna.Study:
    """Enqueue a final training for each variant and seed that has none yet."""
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
    """Open the study that ``plan_final`` has made."""
    return optuna.load_study(study_name=_name(name), storage=storage)


def _name(comparison: str) -> str:
    return f"{comparison}-final"


def train_final(
    trial: optuna.Trial, plans: Sequence[StudyPlan], storage: BaseStorage, out: Path
) -> float:
    """Train and test a variant with its best settings; return test BLEU.

    Raises ``UserError`` if no trial of the variant finished, and any error of the training. The
    error is also written into the run folder, so that the comparison names the error.
    """
    variant, seed = trial.user_attrs[VARIANT], trial.user_attrs[SEED]
    folder = out / str(trial.user_attrs[SLOT])
    plan = next(one for one in plans if one.variant == variant)
    overrides = [*plan.overrides, f"seed={seed}"]
    try:
        overrides += as_overrides(best_of(plan, storage).params)
        with hydra_job(overrides, folder) as (job, config):
            score = train_in(job, config)
            assert score is not None  # a worker is rank zero
            return score
    except Exception as error:
        failure = Failure(
            variant=variant, seed=seed, overrides=redacted(overrides), error=reason(error)
        )
        write_failure(folder, failure)
        raise


def best_of(plan: StudyPlan, storage: BaseStorage) -> optuna.trial.FrozenTrial:
    """Return the best trial of a study. Raises ``UserError`` if none finished."""
    study = optuna.load_study(study_name=plan.sweep.name, storage=storage)
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        raise UserError(f"study {plan.sweep.name}: no trial finished")
    return study.best_trial
