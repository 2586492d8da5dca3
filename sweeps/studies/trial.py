"""One trial: its trainings, one for each seed, and its values."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import optuna
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from pydantic import BaseModel

from datamodules.files import write_json
from lightning_modules.redaction import redacted
from lightning_modules.tasks.train import fit, prepared
from lightning_modules.testing import count_parameters
from lightning_modules.tracking.tracker import Tracker
from sweeps.studies.compose import as_job
from sweeps.studies.places import SLOT
from sweeps.studies.settings import Sweep
from sweeps.studies.watch import Watch

TRAINED = "trained.json"
TOKENS, BY_SEED = "target_tokens", "by_seed"
"""Attributes of a trial: what it has cost, and the BLEU of each seed."""


class Trained(BaseModel):
    """What one seed of a trial came to."""

    bleu: float
    """Best in validation."""
    loss: float
    """Lowest in validation, nats a token."""
    parameters: int
    seconds: float
    """Of training."""
    target_tokens: int


def train_trial(
    trial: optuna.Trial, sweep: Sweep, overrides: Sequence[str], folder: Path
) -> list[float]:
    """Train with every seed of the sweep; return the value of each objective, the seeds' mean.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and whatever training raises.
    """
    overrides = [*overrides, *_tracked(sweep, trial.user_attrs[SLOT])]
    found: list[Trained] = []
    spent = 0
    metric = "val/loss" if sweep.objectives[0] == "loss" else "val/bleu"
    for done, seed in enumerate(sweep.seeds):
        told = trial if sweep.pruner in ("median", "hyperband") else None
        watch = Watch(told, metric, done, len(sweep.seeds))
        own = folder / f"seed-{seed}"
        arguments = [*overrides, f"seed={seed}"]
        known = trained_before(own, arguments)
        try:
            found.append(known or train_seed(arguments, own, watch))
        finally:
            spent += known.target_tokens if known else watch.target_tokens
            trial.set_user_attr(TOKENS, spent)
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
    """Train once, without a look at the test set, going on where a dead worker left off."""
    with as_job(overrides, folder) as config, prepared(config, folder, watch) as run:
        training = fit(run.trainer, run.module, run.data, run.checkpoint)
        if isinstance(run.trainer.logger, Tracker):
            run.trainer.logger.tell(watch.tell)
        watch.check()
        trained = Trained(
            bleu=watch.best_bleu,
            loss=watch.lowest_loss,
            parameters=count_parameters(run.module.model),
            seconds=training.seconds or 0.0,
            target_tokens=training.target_tokens or 0,
        )
    write_json(folder / TRAINED, trained.model_dump())
    return trained


def trained_before(folder: Path, overrides: Sequence[str]) -> Trained | None:
    """What a worker that died later had finished, with these very settings."""
    file, told = folder / TRAINED, folder / ".hydra" / "overrides.yaml"
    if not file.is_file() or OmegaConf.load(told) != redacted(list(overrides)):
        return None
    return Trained.model_validate_json(file.read_bytes())
