"""Workers of studies, which take trials from the queue in the storage until all have ended."""

import logging
import math
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from statistics import mean
from typing import Any, Literal, TypeVar

import optuna
import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState
from typing_extensions import override

from datamodules.errors import UserError
from datamodules.files import locked
from datamodules.translation_data import TranslationData
from lightning_modules.ranks.launch import on_ranks
from lightning_modules.runs.files import read_record, write_record
from lightning_modules.runs.job import Job
from lightning_modules.runs.paths import LOCK
from lightning_modules.runs.schema import Record
from lightning_modules.tasks.train import identity_of, sized_for_data, tracked_training
from lightning_modules.tracking.names import TRIAL_BLEU
from lightning_modules.training.budgets import Cost, total
from lightning_modules.training.callbacks import budget_of
from lightning_modules.training.losses import DivergedError
from lightning_modules.training.setup import fit
from lightning_modules.training.validations import Validation
from lightning_modules.variants import count_parameters
from sweeps.launch.compose import hydra_job
from sweeps.launch.errors import as_user_error
from sweeps.launch.job import end_with_parent
from sweeps.studies.draws import SLOT
from sweeps.studies.plan import (
    BY_SEED,
    COST,
    LOSS,
    REASON,
    StudyPlan,
    open_studies,
    open_study,
    reason,
    seed_folder,
    trial_folder,
)
from sweeps.studies.settings import TRIAL_STEPS, Sweep, as_overrides, shown_value, suggest
from sweeps.studies.storage import give_first_heartbeats, open_storage, wait_for_storage

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # polling interval of a worker that waits for the last trials of other workers
Objective = Callable[[optuna.Trial], list[float] | float]
Search = tuple[optuna.Study, Objective]
"""A study, and what trains its trials."""
Returned = TypeVar("Returned")


def work(plans: Sequence[StudyPlan], out: Path, number: int) -> None:
    """Let a process take trials, and start another one whenever a trial kills the process.

    So a trial that kills its process disturbs neither the launcher nor the other workers. Raises
    ``BrokenProcessPool`` if the process died before it took a trial.
    """
    with _trials_only():
        while True:
            begun = run_in_fork(trials_begun, plans, out)
            try:
                run_in_fork(take_trials, plans, out)
                return
            except BrokenProcessPool:
                if run_in_fork(trials_begun, plans, out) == begun:
                    raise
                log.warning("worker %s died; another continues", number)


def run_in_fork(task: Callable[..., Returned], *arguments: object) -> Returned:
    """Call ``task`` in a fork of this process, which never outlives this process.

    Ctrl-C, or SIGINT to this process alone, interrupts the task once, and waits for its end.
    """
    with ProcessPoolExecutor(1, get_context("fork"), _leave_group) as pool:
        try:
            return pool.submit(task, *arguments).result()
        except KeyboardInterrupt:
            for fork in active_children():
                os.kill(fork.pid or os.getpid(), signal.SIGINT)
            raise


def _leave_group() -> None:
    """End with the parent, and take signals from the parent alone, not from a terminal too."""
    os.setpgid(0, 0)
    end_with_parent()


def trials_begun(plans: Sequence[StudyPlan], out: Path) -> int:
    """Return the number of trials that a worker has ever taken, once the storage answers."""
    wait_for_storage(plans[0].sweep, out)
    studies = open_studies(plans, out)
    trials = [trial for study in studies for trial in study.get_trials(deepcopy=False)]
    return sum(trial.state != TrialState.WAITING for trial in trials)


def take_trials(plans: Sequence[StudyPlan], out: Path) -> None:
    """Take trials of all studies until none waits and no other worker can lose one."""
    while True:
        try:
            storage = open_storage(plans[0].sweep, out)
            searches: list[Search] = [
                (open_study(plan.sweep, storage), partial(train_slot, plan=plan)) for plan in plans
            ]
            run_all(searches, storage)
            return
        except (StorageInternalError, UnboundLocalError) as error:
            # Where a trial ends without a storage, Optuna raises the second on top of the first.
            lost = error.__context__ if isinstance(error, UnboundLocalError) else error
            if not isinstance(lost, StorageInternalError):
                raise
            log.warning("the storage was lost (%s)", lost)
            wait_for_storage(plans[0].sweep, out)


def run_all(searches: Sequence[Search], storage: BaseStorage) -> None:
    """Take trials of one study after the other until none waits or runs."""
    beaten: dict[str, set[int]] = defaultdict(set)
    while True:
        for study, _ in searches:
            fail_stale_trials(study)
        ready = next((each for each in searches if _has(each[0], TrialState.WAITING)), None)
        if ready is not None:
            _empty_queue(*ready)
        elif any(_has(study, TrialState.RUNNING) for study, _ in searches):
            for study, _ in searches:
                give_first_heartbeats(study, storage, beaten[study.study_name])
            time.sleep(POLL_SECONDS)
        else:
            return


def _has(study: optuna.Study, state: TrialState) -> bool:
    return bool(study.get_trials(deepcopy=False, states=(state,)))


def _empty_queue(study: optuna.Study, task: Objective) -> None:
    """Run trials until none waits, with a heartbeat each, and record their outcomes."""
    taken: list[int] = []

    def objective(trial: optuna.Trial) -> list[float] | float:
        taken.append(trial.number)
        return _outcome(study, task, trial)

    try:
        study.optimize(objective, catch=(Exception,), callbacks=[_end_trial])
    except (UpdateFinishedTrialError, ValueError):
        if not taken or study.trials[taken[-1]].state == TrialState.RUNNING:
            raise
        # For instance after a restart of the database that took longer than the heartbeat allows.
        log.warning("trial %s was given to another worker meanwhile", taken[-1])


def _outcome(study: optuna.Study, task: Objective, trial: optuna.Trial) -> list[float] | float:
    if SLOT not in trial.user_attrs:
        why = "another worker took the last trial of the queue"
        trial.set_user_attr(REASON, why)
        raise UserError(why)  # samplers count pruned trials, but no failed ones
    try:
        return task(trial)
    except optuna.TrialPruned:
        raise
    except (KeyboardInterrupt, StorageInternalError):
        frozen = next(one for one in study.get_trials() if one.number == trial.number)
        RetryHeartbeatStaleTrialCallback()(study, frozen)
        raise
    except Exception as error:
        trial.set_user_attr(REASON, reason(error))
        if as_user_error(error) is None:
            log.exception("trial %s", trial.user_attrs[SLOT])
        raise
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def train_slot(trial: optuna.Trial, plan: StudyPlan) -> list[float]:
    """Choose settings for a trial of the queue, and train it."""
    slot = trial.user_attrs[SLOT]
    chosen = suggest(trial, plan.sweep.space)
    shown = " ".join(f"{name}={shown_value(value)}" for name, value in chosen.items())
    log.info("%s trial %s  %s", plan.sweep.name, slot, shown)
    overrides = [*plan.overrides, *as_overrides(chosen)]
    return train_trial(trial, plan, overrides, trial_folder(plan.folder, slot))


def _end_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Log a trial, and stop the worker's turn if no other trial waits."""
    if trial.state == TrialState.COMPLETE:
        outcome = ", ".join(map(shown_value, trial.values))
    else:
        outcome = trial.user_attrs.get(REASON, trial.state.name.lower())
    log.info("%s trial %s  %s", study.study_name, trial.user_attrs.get(SLOT, "-"), outcome)
    if not _has(study, TrialState.WAITING):
        study.stop()


@contextmanager
def _trials_only() -> Iterator[None]:
    """Keep all but the trials off the terminal; the file of the worker has every record."""
    filtered, handlers = logging.Filter("sweeps"), logging.getLogger().handlers
    shown = [handler for handler in handlers if not isinstance(handler, logging.FileHandler)]
    for handler in shown:
        handler.addFilter(filtered)
    try:
        yield
    finally:
        for handler in shown:
            handler.removeFilter(filtered)


STATE = ("verdict", "reports", "cost")
"""Attributes that a checkpoint keeps for a resumed training."""

Verdict = Literal["", "pruned", "diverged"]


class TrialCallback(pl.Callback):
    """Report every validation to a trial, and stop the training when the study prunes the trial.

    All ranks of a training stop together; only rank zero uses the storage. ``done`` seeds of the
    trial were trained before this one, and have cost ``spent``.
    """

    def __init__(self, trial: optuna.Trial, sweep: Sweep, done: int, spent: Cost) -> None:
        self.trial = trial
        self.reports_steps = sweep.prunes_by == "validations"
        self.metric = "val/loss" if sweep.objectives[0] == "loss" else "val/bleu"
        self.done, self.seeds = done, len(sweep.seeds)
        self.spent = spent
        self.verdict: Verdict = ""
        self.reports: list[tuple[int, float]] = []
        self.cost: Cost = {}

    @override
    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.is_global_zero:
            self._repeat()

    def take_over(self, reports: list[tuple[int, float]], cost: Cost) -> None:
        """Report a whole training that a dead worker had finished."""
        self.reports, self.cost = reports, cost
        self._repeat()
        self._account()

    def _repeat(self) -> None:
        """Repeat the reports of a dead worker to the new trial."""
        if self.reports_steps:
            for step, value in self.reports:
                self.trial.report(value, step)

    @override
    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.cost = dict(budget_of(trainer).cost)

    @override
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        values = {name: float(trainer.callback_metrics[name]) for name in ("val/bleu", "val/loss")}
        verdict: Verdict = ""
        if not math.isfinite(values["val/loss"]):
            verdict = "diverged"
        elif self.reports_steps and trainer.is_global_zero:
            share = (self.done + budget_of(trainer).share) / self.seeds
            step, value = round(TRIAL_STEPS * share), values[self.metric]
            self.reports.append((step, value))
            self.trial.report(value, step)
            verdict = "pruned" if self.trial.should_prune() else ""
        self.verdict = trainer.strategy.broadcast(verdict)
        if self.verdict:
            trainer.should_stop = True

    @override
    def on_train_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.is_global_zero:
            self._account()

    @override
    def on_exception(self, trainer: pl.Trainer, *_: Any) -> None:
        self.on_train_end(trainer)

    def _account(self) -> None:
        self.trial.set_user_attr(COST, total([self.spent, self.cost]))

    @override
    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in STATE}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update(state_dict)

    def scores(self, best: Validation) -> dict[str, float | str]:
        """Return the values that sort a tracker's tables of trials."""
        return {
            TRIAL_BLEU: best.bleu,
            "trial/loss": best.loss,
            "trial/state": self.verdict or "finished",
        }


TRAINED = "trained.json"


class SeedResult(Record):
    """``trained.json``: results of one seed of a trial."""

    bleu: float  # BLEU of the best validation, whose weights a run tests
    loss: float  # its loss, in nats per target token
    parameters: int
    seconds: float  # seconds of training, validation left out
    cost: Cost
    reports: list[tuple[int, float]]  # reports to the trial: steps and values
    identity: str  # digest of the settings, data and code that decide the weights


def train_trial(
    trial: optuna.Trial, plan: StudyPlan, overrides: Sequence[str], folder: Path
) -> list[float]:
    """Train with every seed of the sweep; return the mean over the seeds for each objective.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and any error of the training.
    """
    sweep = plan.sweep
    name = f"{sweep.name}-{trial.user_attrs[SLOT]}-${{seed}}"
    labels = {"job_type": "trial", "group": sweep.name, "name": name}  # for a logger with groups
    overrides = [*overrides, *(f"logger.{key}={labels[key]}" for key in plan.labels)]
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
    trial.set_user_attr(LOSS, mean(each.loss for each in results))
    return [mean(getattr(each, objective) for each in results) for objective in sweep.objectives]


def train_seed(overrides: Sequence[str], folder: Path, callback: TrialCallback) -> SeedResult:
    """Train once without testing; continue where a dead worker stopped, or use its result.

    Raises ``optuna.TrialPruned``, ``DivergedError``, and any error of the training.
    """
    # A worker that was silent too long may still train here.
    with locked(folder / LOCK), hydra_job(overrides, folder) as (job, config):
        data = sized_for_data(config)
        identity = identity_of(config, data).digest(["weights"])
        known = trained_before(folder, identity)
        if known is not None:
            callback.take_over(known.reports, known.cost)
            return known
        result, verdict = train_reporting(config, data, job, callback, identity)
        if verdict == "pruned":
            raise optuna.TrialPruned
        if verdict == "diverged":
            raise DivergedError("the validation loss is NaN or infinite")
        write_record(folder / TRAINED, result)
        return result


@on_ranks
def train_reporting(
    config: DictConfig, data: TranslationData, job: Job, callback: TrialCallback, identity: str
) -> tuple[SeedResult, Verdict]:
    """Train on all ranks; return the result, and the verdict of the study."""
    with tracked_training(config, data, job, callback) as (trainer, setup, tracker):
        training = fit(trainer, setup)
        validations = [each for each in setup.module.validations if math.isfinite(each.loss)]
        best = min(validations, key=lambda each: each.order, default=Validation(math.inf, 0.0))
        if tracker is not None:
            tracker.log_scores(callback.scores(best), trainer.global_step)
        if not callback.verdict and not validations:
            raise UserError(
                "the budget ended before a validation: lower trainer.val_check_interval"
            )
        result = SeedResult(
            bleu=best.bleu,
            loss=best.loss,
            parameters=count_parameters(setup.module.model),
            seconds=training.seconds or 0.0,
            cost=budget_of(trainer).cost,
            reports=callback.reports,
            identity=identity,
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
