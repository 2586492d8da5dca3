"""``task=claims``: train what published claims need, and say of each whether it held."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from datamodules.errors import validated
from lightning_modules.runs.paths import FAILURE, RESULT
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.tasks.train import train_in
from lightning_modules.testing.scoring import Scoring
from lightning_modules.tracking.names import is_wandb
from sweeps.claims.claim import ALL, all_claims
from sweeps.claims.forecast import JOB_TIME, NOTE, last_verdicts, list_of, plan_table, prospects
from sweeps.claims.judging import add_untuned_verdicts, judge_all
from sweeps.claims.plan import Plan
from sweeps.claims.planned_runs import PlannedRun, read_runs, write_runs
from sweeps.claims.scoreboard import PRINTED, Scale, outcome_of, scoreboard, summary
from sweeps.claims.scoreboard_page import write_scoreboard
from sweeps.claims.selection import (
    FILE,
    plan_of,
    rates_table,
    shared_overrides,
    tier_of,
    tuned_systems,
    wanted_by,
    write_rates,
)
from sweeps.claims.shared_training import copy_training
from sweeps.launch.compose import hydra_job
from sweeps.launch.errors import as_user_error
from sweeps.launch.job import record_failure
from sweeps.report.terminal import rich_table

RUNS, UNTUNED = "runs.json", "runs_untuned.json"
"""Files of a command: the runs that it wants, and the same with the learning rates of the files."""
LIST = "list"
PLAIN: Any = {"markup": False, "highlight": False, "soft_wrap": True}
"""How lines are printed in which a name or a path may look like markup."""
TAKEN = ".taken.lock"
"""File in a run folder that a worker locks while the worker makes the runs of this training."""


def begin(config: DictConfig) -> None:
    """Print the plan, after the list of all claims where asked for, and stop if that is all.

    With nothing to train, the claims are judged at once.

    Raises ``UserError`` before the first training.
    """
    console = Console()
    settings = OmegaConf.masked_copy(config, [key for key in map(str, config) if key != "hydra"])
    check_settings(settings, config.hydra.overrides.task)
    listed = config.claims == LIST
    if listed:
        console.print(list_of(all_claims().values(), last_verdicts(Path(config.outputs))))
        if config.hydra.runtime.choices.tier is None:
            raise SystemExit(0)
        config.claims = ALL
    wanted, untuned = wanted_by(config)
    plan = plan_of(config, wanted)
    known = {} if config.tune else prospects(plan)
    console.print(plan_table(plan, known, config.workers))
    for note in (JOB_TIME, NOTE) if known else (JOB_TIME,):
        console.print(note, soft_wrap=True, highlight=False)
    for claim, why in plan.left_out:
        console.print(f"{claim.name}: not run, {why}", **PLAIN)
    if config.plan or listed:
        raise SystemExit(0)
    write_runs(wanted, Path(config.hydra.sweep.dir) / RUNS)
    write_runs(untuned, Path(config.hydra.sweep.dir) / UNTUNED)
    if not plan.missing:
        end(config)
        raise SystemExit(0)


def train_missing(config: DictConfig) -> None:
    """Task: one worker, which makes one missing run after the other until none is left."""
    hydra = HydraConfig.get()
    file = Path(hydra.sweep.dir) / RUNS
    begun = file.stat().st_mtime
    plan = plan_of(config, read_runs(file), hydra)
    for runs in plan.trainings:
        if missing := [run for run in runs if run.identity not in plan.finished]:
            with _taken(runs[0].folder) as alone:
                if alone:
                    _train_once(missing, plan.trained.get(runs[0].training), begun)


def end(config: DictConfig) -> None:
    """Judge the claims or, after trials, choose the learning rates; print and write the outcome.

    Ends the program with status 1 if a claim has no verdict, or a system no rate, because a run
    failed.
    """
    plan = plan_of(config, read_runs(Path(config.hydra.sweep.dir) / RUNS))
    if config.tune:
        _record_rates(plan, config)
    else:
        _judge(plan, config)


def _record_rates(plan: Plan, config: DictConfig) -> None:
    file, console = Path(config.hydra.sweep.dir) / FILE, Console()
    tuned, missing = tuned_systems(plan, tier_of(config.hydra))
    console.print(rates_table(tuned))
    write_rates(tuned, file)
    lines = [f"{system}: a trial failed, no rate" for system in missing]
    lines.append(f"rates are in {file}; train the claims with learning_rates={file}")
    for line in lines:
        console.print(line, **PLAIN)
    if missing:
        raise SystemExit(1)


def _judge(plan: Plan, config: DictConfig) -> None:
    out, console = Path(config.hydra.sweep.dir), Console()
    scale = Scale.of(tier_of(config.hydra), shared_overrides(config))
    scoring = validated(Scoring, config.scoring, "scoring")
    judged = judge_all(plan, scoring)
    if config.learning_rates is not None:
        untuned = judge_all(replace(plan, wanted=read_runs(out / UNTUNED)), scoring)
        judged = add_untuned_verdicts(judged, untuned)
    table = rich_table(scoreboard(judged, scale, PRINTED))
    for key in ("claim", "ours"):
        table.columns[PRINTED.index(key)].no_wrap = True
    console.print(table)
    for one in judged:
        if why := one.failure or one.not_run:
            console.print(f"{one.claim.name}: {outcome_of(one)}; {why}", **PLAIN)
    page = write_scoreboard(judged, scale, out)
    if is_wandb(config.logger):
        from sweeps.claims.online import publish_claims

        publish_claims(judged, scale, out, config.logger)
    for line in (summary(judged, scale), f"open {page} in a browser"):
        console.print(line, **PLAIN)
    if any(one.failure is not None for one in judged):
        raise SystemExit(1)


@contextmanager
def _taken(folder: Path) -> Iterator[bool]:
    """Lock a run folder; yield whether no other worker has."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / TAKEN).acquire(blocking=False)
    except Timeout:
        yield False
        return
    with lock:
        yield True


def _train_once(runs: Sequence[PlannedRun], trained: Path | None, begun: float) -> None:
    """Make the runs of one training, of which each has its own test; record errors.

    Args:
        runs: missing runs.
        trained: a finished run with the training, if there is one.
        begun: time at which the command began; what was made or has failed since stays.
    """
    for run in runs:
        if not _was_tried(run.folder, begun):
            _train(run, trained)
        if (run.folder / RESULT).is_file():
            trained = run.folder


def _train(run: PlannedRun, trained: Path | None) -> None:
    with hydra_job(run.overrides, run.folder) as (job, config):
        try:
            if trained is not None:
                copy_training(trained, run.folder)
            train_in(job, config)
        except Exception as error:
            record_failure(config, job, as_user_error(error) or error)


def _was_tried(folder: Path, begun: float) -> bool:
    ends = [folder / name for name in (RESULT, FAILURE)]
    return any(file.stat().st_mtime >= begun for file in ends if file.is_file())
