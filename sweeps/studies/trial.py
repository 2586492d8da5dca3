"""One trial: its trainings, one for each seed, and its values."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import optuna
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel

from datamodules.errors import UserError
from datamodules.files import write_json
from lightning_modules.budgets import Cost, total
from lightning_modules.callbacks import budget_of
from lightning_modules.matching import match_size
from lightning_modules.ranks.launcher import on_ranks
from lightning_modules.redaction import redacted
from lightning_modules.tasks.train import fit, prepared
from lightning_modules.testing import count_parameters
from lightning_modules.tracking.tracker import Tracker
from sweeps.studies.compose import as_job
from sweeps.studies.places import BY_SEED, SLOT
from sweeps.studies.settings import Sweep
from sweeps.studies.watch import Verdict, Watch, end_by

TRAINED = "trained.json"


class Trained(BaseModel):
    """What one seed of a trial came to."""

    bleu: float
    """Best in validation."""
    loss: float
    """Lowest in validation, nats a token."""
    parameters: int
    seconds: float
    """Of training."""
    cost: Cost
    reports: list[tuple[int, float]] = []
    """What the trial was told while it ran: steps and values."""


def train_trial(
    trial: optuna.Trial, sweep: Sweep, overrides: Sequence[str], folder: Path
) -> list[float]:
    """Train with every seed of the sweep; return the value of each objective, the seeds' mean.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and whatever training raises.
    """
    overrides = [*overrides, *_tracked(sweep, trial.user_attrs[SLOT])]
    found: list[Trained] = []
    for done, seed in enumerate(sweep.seeds):
        spent = total([each.cost for each in found])
        own = folder / f"seed-{seed}"
        arguments = [*overrides, f"seed={seed}"]
        known = trained_before(own, arguments)
        watch = Watch(trial, sweep, done, spent)
        if known is not None:
            watch.take_over(known.reports, known.cost)
        found.append(known or train_seed(arguments, own, watch))
        if sweep.pruner == "wilcoxon":
            trial.report(getattr(found[-1], sweep.objectives[0]), seed)
            if done + 1 < len(sweep.seeds) and trial.should_prune():
                raise optuna.TrialPruned
    trial.set_user_attr(BY_SEED, [each.bleu for each in found])
    return [mean(getattr(each, objective) for each in found) for objective in sweep.objectives]


def _tracked(sweep: Sweep, slot: int) -> list[str]:
    """A tracked run for each seed of a trial, in the group of its study."""
    if HydraConfig.get().runtime.choices["logger"] != "wandb":
        return []
    return [
        "logger.job_type=trial",
        f"logger.group={sweep.name}",
        f"logger.name={sweep.name}-{slot}-${{seed}}",
    ]


def train_seed(overrides: Sequence[str], folder: Path, watch: Watch) -> Trained:
    """Train once, without a look at the test set, going on where a dead worker left off.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and whatever training raises.
    """
    (folder / TRAINED).unlink(missing_ok=True)  # of other settings
    with as_job(overrides, folder) as config:
        match_size(config)
        trained, verdict = train_watched(config, folder, watch)
    end_by(verdict)
    write_json(folder / TRAINED, trained.model_dump())
    return trained


@on_ranks
def train_watched(config: DictConfig, folder: Path, watch: Watch) -> tuple[Trained, Verdict]:
    """Train, and say what the study thought of it."""
    with prepared(config, folder, watch) as run:
        training = fit(run.trainer, run.module, run.data, run.checkpoint)
        if isinstance(run.trainer.logger, Tracker):
            run.trainer.logger.tell(watch.tell)
        if not watch.verdict and watch.lowest_loss == math.inf:
            raise UserError(
                "the budget ended before a validation: lower trainer.val_check_interval"
            )
        trained = Trained(
            bleu=watch.best_bleu,
            loss=watch.lowest_loss,
            parameters=count_parameters(run.module.model),
            seconds=training.seconds or 0.0,
            cost=budget_of(run.trainer).cost,
            reports=watch.reports,
        )
    return trained, watch.verdict


def trained_before(folder: Path, overrides: Sequence[str]) -> Trained | None:
    """What a worker that died later had finished, with these very settings."""
    file, told = folder / TRAINED, folder / ".hydra" / "overrides.yaml"
    if not file.is_file() or OmegaConf.load(told) != redacted(list(overrides)):
        return None
    return Trained.model_validate_json(file.read_bytes())
