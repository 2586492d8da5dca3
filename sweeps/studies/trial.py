"""One trial: its trainings, one for each seed, and its values."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import optuna
from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.ranks.launcher import on_ranks
from lightning_modules.runs.job import Job
from lightning_modules.runs.reader import read_record
from lightning_modules.runs.schema import Record
from lightning_modules.runs.writer import write_record
from lightning_modules.tasks.train import identity_of, settings_and_data, tracked_training
from lightning_modules.training.callbacks import budget_of
from lightning_modules.training.control.budgets import Cost, total
from lightning_modules.training.settings import TrainingSettings
from lightning_modules.training.setup import fit
from lightning_modules.variants import count_parameters
from sweeps.launch.compose import hydra_job
from sweeps.studies.plan import StudyPlan, seed_folder
from sweeps.studies.slots import BY_SEED, SLOT
from sweeps.studies.trial_callback import TrialCallback, Verdict, end_by

TRAINED = "trained.json"


class SeedResult(Record):
    """``trained.json``: results of one seed of a trial."""

    bleu: float
    """Best BLEU in validation."""
    loss: float
    """Lowest loss in validation, nats a target token."""
    parameters: int
    seconds: float
    """Seconds of training, validation left out."""
    cost: Cost
    reports: list[tuple[int, float]]
    """Reports to the trial: steps and values."""
    identity: str | None = None
    """Digest of the settings, data and code that decide the weights."""


def train_trial(
    trial: optuna.Trial, plan: StudyPlan, overrides: Sequence[str], folder: Path
) -> list[float]:
    """Train with every seed of the sweep; return the mean over the seeds for each objective.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and any error of the training.
    """
    sweep = plan.sweep
    overrides = [*overrides, *_tracker_overrides(plan, trial.user_attrs[SLOT])]
    results: list[SeedResult] = []
    for done, seed in enumerate(sweep.seeds):
        spent = total([each.cost for each in results])
        arguments = [*overrides, f"seed={seed}"]
        callback = TrialCallback(trial, sweep, done, spent)
        results.append(train_seed(arguments, seed_folder(folder, seed), callback))
        if sweep.prunes_by == "seeds":
            trial.report(getattr(results[-1], sweep.objectives[0]), seed)
            if done + 1 < len(sweep.seeds) and trial.should_prune():
                raise optuna.TrialPruned
    trial.set_user_attr(BY_SEED, [each.bleu for each in results])
    return [mean(getattr(each, objective) for each in results) for objective in sweep.objectives]


def _tracker_overrides(plan: StudyPlan, slot: int) -> list[str]:
    """Put each seed of a trial into the group of its study, for a logger that has groups."""
    study = plan.sweep.name
    labels = {"job_type": "trial", "group": study, "name": f"{study}-{slot}-${{seed}}"}
    return [f"logger.{key}={labels[key]}" for key in plan.labels]


def train_seed(overrides: Sequence[str], folder: Path, callback: TrialCallback) -> SeedResult:
    """Train once without testing; go on where a dead worker stopped, or use its result.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and any error of the training.
    """
    with hydra_job(overrides, folder) as (job, config):
        settings, data = settings_and_data(config)
        identity = identity_of(config, settings, data).digest(["weights"])
        known = trained_before(folder, identity)
        if known is not None:
            callback.take_over(known.reports, known.cost)
            return known
        result, verdict = train_reporting(config, settings, data, job, callback)
    end_by(verdict)
    result = result.model_copy(update={"identity": identity})
    write_record(folder / TRAINED, result)
    return result


@on_ranks
def train_reporting(
    config: DictConfig,
    settings: TrainingSettings,
    data: TranslationData,
    job: Job,
    callback: TrialCallback,
) -> tuple[SeedResult, Verdict]:
    """Train on all ranks; return the result, and the verdict of the study."""
    with tracked_training(config, settings, data, job, callback) as (trainer, setup, tracker):
        training = fit(trainer, setup)
        if tracker is not None:
            tracker.log_scores(callback.scores, trainer.global_step)
        if not callback.verdict and callback.lowest_loss == math.inf:
            raise UserError(
                "the budget ended before a validation: lower trainer.val_check_interval"
            )
        result = SeedResult(
            bleu=callback.best_bleu,
            loss=callback.lowest_loss,
            parameters=count_parameters(setup.module.model),
            seconds=training.seconds or 0.0,
            cost=budget_of(trainer).cost,
            reports=callback.reports,
        )
    return result, callback.verdict


def trained_before(folder: Path, identity: str) -> SeedResult | None:
    """Return the result of a dead worker that trained the same weights; None without one.

    A result of other settings, data or code is removed.
    """
    file = folder / TRAINED
    if not file.is_file():
        return None
    result = read_record(SeedResult, file)
    if result.identity == identity:
        return result
    file.unlink()
    return None
