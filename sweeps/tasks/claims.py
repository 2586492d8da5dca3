"""``task=claims``: train what published claims need, and say of each whether it held."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from datamodules.errors import validated
from lightning_modules.runs.paths import CHECKPOINTS, HISTORY, RESULT
from lightning_modules.testing.scoring import Scoring
from lightning_modules.tracking.names import is_wandb
from sweeps.claims.claim import ALL, all_claims
from sweeps.claims.forecast import JOB_TIME, NOTE, last_verdicts, list_claims, plan_table, prospects
from sweeps.claims.judging import add_untuned_verdicts, judge_all
from sweeps.claims.plan import Plan, PlannedRun
from sweeps.claims.scoreboard import PRINTED, Scale, outcome_of, scoreboard, summary
from sweeps.claims.scoreboard_page import publish_scoreboard, write_scoreboard
from sweeps.claims.selection import (
    FILE,
    make_plan,
    rates_table,
    shared_overrides,
    tier_of,
    tuned_systems,
    write_rates,
)
from sweeps.launch.jobs import JobPlan, run_jobs
from sweeps.launch.resolvers import remove_unused
from sweeps.report.terminal import print_line, rich_table

LIST = "list"


def retest_claims(config: DictConfig) -> None:
    """Task: plan, train what is missing, then judge the claims or choose learning rates.

    Raises ``UserError`` before the first training. Ends the program with status 1 if a claim has no
    verdict, or a system no rate, because a run failed.
    """
    hydra, console = HydraConfig.get(), Console()
    out = Path(hydra.runtime.output_dir)
    listed = config.claims == LIST
    if listed:
        console.print(list_claims(all_claims().values(), last_verdicts(Path(config.outputs))))
        config.claims = ALL
    if listed and hydra.runtime.choices["tier"] is None:
        remove_unused(out)
        return
    plan = make_plan(config, hydra)
    _print_plan(plan, config, console)
    if config.plan or listed:
        remove_unused(out)
        return
    train_missing(plan, config)
    if config.tune:
        _record_rates(plan, hydra, console)
    else:
        _judge(plan, config, hydra, console)


def _print_plan(plan: Plan, config: DictConfig, console: Console) -> None:
    known = {} if config.tune else prospects(plan)
    console.print(plan_table(plan, known, config.workers))
    for note in (JOB_TIME, NOTE) if known else (JOB_TIME,):
        console.print(note, soft_wrap=True, highlight=False)
    for claim, why in plan.skipped:
        print_line(f"{claim.name}: not run, {why}", console)


def train_missing(plan: Plan, config: DictConfig) -> None:
    """Make the missing runs; those that differ only in the test share one training."""
    first: list[PlannedRun] = []
    others: list[tuple[PlannedRun, PlannedRun]] = []
    for run, *twins in plan.missing_by_training:
        first.append(run)
        others += [(twin, run) for twin in twins]
        if (trained := plan.finished.trainings.get(run.training)) is not None:
            copy_training(trained, run.folder)
    _run(first, config)
    for twin, run in others:
        if (run.folder / RESULT).is_file():
            copy_training(run.folder, twin.folder)
    _run([twin for twin, _ in others], config)


def _run(runs: Sequence[PlannedRun], config: DictConfig) -> None:
    run_jobs(config, [JobPlan(run.overrides, run.folder, run.folder.name) for run in runs])


def copy_training(trained: Path, folder: Path) -> None:
    """Copy the checkpoints and the history of a finished training into the folder of a run.

    The run then continues from its last checkpoint, which is the end of the training: only the test
    is left. A folder with checkpoints of its own stays; without checkpoints to copy, the run
    trains.
    """
    if not (trained / CHECKPOINTS).is_dir() or (folder / CHECKPOINTS).exists():
        return
    part = folder / f"{CHECKPOINTS}.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(trained / CHECKPOINTS, part)
    shutil.copy2(trained / HISTORY, folder / HISTORY)
    part.rename(folder / CHECKPOINTS)


def _record_rates(plan: Plan, hydra: Any, console: Console) -> None:
    file = Path(hydra.runtime.output_dir) / FILE
    tuned, missing = tuned_systems(plan, tier_of(hydra))
    console.print(rates_table(tuned))
    write_rates(tuned, file)
    lines = [f"{system}: a trial failed, no rate" for system in missing]
    lines.append(f"rates are in {file}; train the claims with learning_rates={file}")
    for line in lines:
        print_line(line, console)
    if missing:
        raise SystemExit(1)


def _judge(plan: Plan, config: DictConfig, hydra: Any, console: Console) -> None:
    out = Path(hydra.runtime.output_dir)
    scale = Scale.of(tier_of(hydra), shared_overrides(hydra))
    scoring = validated(Scoring, config.scoring, "scoring")
    results = judge_all(plan, scoring)
    if config.learning_rates is not None:
        untuned = judge_all(replace(plan, runs=plan.untuned), scoring)
        results = add_untuned_verdicts(results, untuned)
    table = rich_table(scoreboard(results, scale, PRINTED))
    for key in ("claim", "ours"):
        table.columns[PRINTED.index(key)].no_wrap = True
    console.print(table)
    for one in results:
        if why := one.failure or one.not_run:
            print_line(f"{one.claim.name}: {outcome_of(one)}; {why}", console)
    page = write_scoreboard(results, scale, out)
    if is_wandb(config.logger):
        publish_scoreboard(results, scale, out, config.logger)
    for line in (summary(results, scale), f"open {page} in a browser"):
        print_line(line, console)
    if any(one.failure is not None for one in results):
        raise SystemExit(1)
