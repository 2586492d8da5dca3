"""The studies that a command asks for, and the queue of trials of each in its storage."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import torch
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from optuna.samplers import RandomSampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState
from pydantic import BaseModel, Field

from datamodules.errors import UserError, validated
from lightning_modules.runs.identity import study_identity
from lightning_modules.runs.paths import STUDIES
from lightning_modules.runs.provenance import code_versions
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.runs.settings import key_of
from lightning_modules.training.factories import SMALL_VOCABULARY, build_corpus
from lightning_modules.training.setup import word_rules
from lightning_modules.training.size_search import build_to_count
from sweeps.launch.compose import composed, training_config, use_hydra_config
from sweeps.launch.errors import as_user_error
from sweeps.studies.draws import SLOT, SlotSampler, check_draws, settings_to_try
from sweeps.studies.settings import Choices, Sweep, as_overrides, suggest
from sweeps.studies.storage import open_storage, silence_optuna

GIVEN, REASON = "given", "reason"
"""Attributes of trials: settings that no sampler chose; reason for no value."""
COST, BY_SEED, LOSS = "cost", "by_seed", "loss"
"""Attributes of trials: cost by kind of budget; validation BLEU of each seed; mean loss."""
IDENTITY = "identity"  # attribute of a study: what all of its trials share
LABELS = ("job_type", "group", "name")
"""Keys of a logger whose values tell the runs of a study from others."""
DRAWS = 20  # settings that a study tries out before it is refused
NOT_OF_TRIALS = ("task=", "seed=", "sweep.worker=")
"""Beginnings of overrides of a command that its trials do not take."""


class Tuning(BaseModel, extra="forbid"):
    """The group ``tuned``: variants, each with its search space; seeds of the final runs."""

    variants: dict[str, str] = Field(min_length=1)
    seeds: list[int] = Field(min_length=1)


@dataclass(frozen=True)
class StudyPlan:
    """A study to make, or to continue."""

    variant: str
    sweep: Sweep
    overrides: list[str]  # overrides that all of its trainings share
    code: str  # version of the code that trains
    folder: Path
    labels: tuple[str, ...]
    """Keys of the logger that label a trial; none for a logger without groups."""


def study_plans(config: DictConfig, overrides: Sequence[str], out: Path) -> list[StudyPlan]:
    """Return the studies of a command: one, or one for each tuned variant.

    ``overrides`` are those of the command line. Raises ``UserError`` for settings that cannot be
    used, such as seeds of trials among those of the final runs.
    """
    base = [one for one in overrides if not one.startswith(NOT_OF_TRIALS)]
    has_groups = "group" in config.logger
    labels = tuple(key for key in LABELS if key in config.logger) if has_groups else ()
    tuned = tuned_settings(config)
    if tuned is None:
        sweep = validated(Sweep, config.sweep, "sweep")
        code = code_versions(config).training
        return [StudyPlan(config.variant, sweep, base, code, out, labels)]
    plans = []
    for variant, family in tuned.variants.items():
        chosen = [*base, f"sweep={family}", f"model={variant}"]
        settings = _composed(chosen, f"tuned.variants.{variant}={family}")
        with use_hydra_config(settings):
            sweep = validated(Sweep, settings.sweep, "sweep")
        if len(sweep.objectives) > 1:
            raise UserError("sweep.objectives: comparison=tuned chooses by one; give one")
        if sweep.sampler == "grid":
            raise UserError(
                "sweep.sampler=grid: has as many trials as the space has points, and "
                "comparison=tuned gives every system equally many; give another sampler"
            )
        if seen := set(sweep.seeds) & set(tuned.seeds):
            raise UserError(
                f"tuned.seeds: {min(seen)} is a seed of the trials too; give fresh ones"
            )
        folder, code = out / STUDIES / variant, code_versions(settings).training
        plans.append(StudyPlan(variant, sweep, chosen, code, folder, labels))
    return plans


def tuned_settings(config: DictConfig) -> Tuning | None:
    """Return the group ``tuned``; None for a study of one variant. Raises ``UserError``."""
    return validated(Tuning, config.tuned, "tuned") if "tuned" in config else None


def check_plan(study: StudyPlan) -> None:
    """Raise ``UserError`` for a sampler, a pruner or a space that cannot be used.

    Each parameter of the space must be an override of Hydra, and none that the command gives: the
    trials would replace the given value.
    """
    searched = {key_of(name): name for name in study.sweep.space}
    for override in study.overrides:
        if (name := searched.get(key_of(override))) is not None:
            raise UserError(
                f"{override}: {study.sweep.name} searches its value; leave it out, or give "
                f"'~sweep.space.{name}'"
            )
    check_draws(study.sweep)
    study.sweep.make_pruner()
    settings_to_try(study.sweep)
    for name, parameter in study.sweep.space.items():
        when = parameter.when.items()
        wanted = {key: each if isinstance(each, list) else [each] for key, each in when}
        values = parameter.choices if isinstance(parameter, Choices) else [parameter.low]
        chosen = {key: first for key, (first, *_) in wanted.items()}
        for value in values:
            given = as_overrides(chosen | {name: value})
            _composed([*study.overrides, *given], f"sweep.space.{name}")


def check_trials(study: StudyPlan) -> None:
    """Raise ``UserError`` if none of some settings drawn from the space can be trained.

    A space of which a part does not fit together is usable: trials there are marked as failed.
    """
    drawn = optuna.create_study(sampler=RandomSampler(study.sweep.sampler_seed))
    refused: list[UserError] = []
    while len(refused) < DRAWS:
        chosen = as_overrides(suggest(drawn.ask(), study.sweep.space))
        try:
            _check_training(_composed([*study.overrides, *chosen], "sweep.space"), study.folder)
            return
        except UserError as error:
            refused.append(error)
    raise UserError(
        f"sweep.space: none of {DRAWS} settings drawn from it can be trained, such as {refused[0]}"
    )


def _check_training(config: DictConfig, folder: Path) -> None:
    """Raise ``UserError`` for settings that cannot be used, and for a model that refuses them."""
    with open_dict(config):
        config.hydra.runtime.output_dir = str(folder)  # where nothing is written
    settings = training_config(config)
    with use_hydra_config(config):
        check_settings(OmegaConf.masked_copy(config, [*settings, "task"]))
        build_to_count(settings, [SMALL_VOCABULARY] * 2)  # the node may lack the trials' devices


def check_text(study: StudyPlan) -> None:
    """Raise ``UserError`` for a validation text that no trial of the study could score."""
    config = _composed(study.overrides, "sweep")
    with use_hydra_config(config):
        corpus = build_corpus(config)
        word_rules(config, corpus, corpus.split("val"))


def _composed(overrides: list[str], option: str) -> DictConfig:
    try:
        return composed(overrides)
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(f"{option}: {as_user_error(error)}") from None


def open_study(sweep: Sweep, storage: BaseStorage) -> optuna.Study:
    """Open a study that ``create_study`` has made."""
    return optuna.load_study(
        study_name=sweep.name,
        storage=storage,
        sampler=SlotSampler(sweep),
        pruner=sweep.make_pruner(),
    )


def open_studies(plans: Sequence[StudyPlan], out: Path) -> list[optuna.Study]:
    """Open the studies of a command. Raises ``UserError`` as ``open_storage`` does."""
    silence_optuna()
    storage = open_storage(plans[0].sweep, out)
    return [open_study(plan.sweep, storage) for plan in plans]


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
        sampler=SlotSampler(sweep),
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
            "its settings to continue it, or another sweep.name to begin one"
        )
    _enqueue_missing(study, sweep)
    return study


def _enqueue_missing(study: optuna.Study, sweep: Sweep) -> None:
    """Enqueue a trial for each slot that needs one: a new slot, and one whose trials were lost.

    A lost trial keeps its parameters. New slots get the settings to try that no trial has.
    Raises ``UserError`` for more such settings than new slots.
    """
    trials = study.get_trials(deepcopy=False)
    slots: dict[int, list[FrozenTrial]] = defaultdict(list)
    for trial in trials:
        if SLOT in trial.user_attrs:
            slots[trial.user_attrs[SLOT]].append(trial)
    tried = [trial.user_attrs.get(GIVEN, {}) for trial in trials]
    to_try = [settings for settings in settings_to_try(sweep) if settings not in tried]
    wanted = len(slots) + len(to_try) if sweep.sampler == "grid" else sweep.trials
    if to_try and len(slots) + len(to_try) > wanted:
        raise UserError(
            f"sweep.known: {len(to_try)} of these settings {'has' if len(to_try) == 1 else 'have'} "
            "no trial yet; give "
            f"sweep.trials={len(slots) + len(to_try)} or more"
        )
    for slot, attempts in slots.items():
        if all(map(is_lost, attempts)):
            last = attempts[-1]
            _enqueue(study, slot, last.user_attrs.get(GIVEN, {}) | last.params)
    for slot in range(len(slots), wanted):
        _enqueue(study, slot, to_try.pop(0) if to_try else {})


def is_lost(trial: FrozenTrial) -> bool:
    """Return whether a trial was interrupted, as by the death of its worker."""
    return trial.state == TrialState.FAIL and REASON not in trial.user_attrs


def _enqueue(study: optuna.Study, slot: int, settings: dict[str, Any]) -> None:
    given = {GIVEN: settings} if settings else {}
    study.enqueue_trial(settings, user_attrs={SLOT: slot, **given})


def order_of(trial: FrozenTrial, upwards: bool) -> tuple[float, float, int]:
    """Return a sort key that is lowest for the best trial by the first objective.

    The lower validation loss decides between equal values, such as a BLEU of 0, then the age.
    """
    value, loss = trial.values[0], trial.user_attrs.get(LOSS, math.inf)
    return -value if upwards else value, loss, trial.number


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
