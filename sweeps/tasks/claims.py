"""``task=claims``: train what published claims need, and say of each whether it held."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table

from datamodules.errors import UserError, validated
from lightning_modules.runs.schema import FAILURE, RESULT
from lightning_modules.runs.settings.checks import check_settings
from lightning_modules.runs.settings.table import key_of
from lightning_modules.tasks.train import train_in
from lightning_modules.testing.scoring_settings import Scoring
from lightning_modules.tracking.early_import import WANDB
from sweeps.claims.catalogue import ALL, all_claims, choose
from sweeps.claims.claim import TIERS, Claim, TierName
from sweeps.claims.judging import judge_all
from sweeps.claims.plan import Plan, plan_table
from sweeps.claims.prospects import NOTE, powers
from sweeps.claims.runs import RUNS, Wanted, finished_runs, read_runs, wanted_runs, write_runs
from sweeps.claims.scoreboard.page import write_scoreboard
from sweeps.claims.scoreboard.rows import PRINTED, scoreboard, summary
from sweeps.launch.compose import hydra_job
from sweeps.launch.errors import as_user_error
from sweeps.launch.job import record_failure
from sweeps.report.printed_tables import printed_table

OWN = (
    "task",
    "claims",
    "tier",
    "plan",
    "seed_count",
    "workers",
    "worker",
    "comparison_name",
    "hydra",
)
"""Keys, or their first parts, that trainings do not take from the command line."""
LIST = "list"
TAKEN = ".taken.lock"
"""File in a run folder that a worker locks while the worker trains the run."""


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
        console.print(_list_of(list(all_claims().values())))
        if config.hydra.runtime.choices.tier is None:
            raise SystemExit(0)
        config.claims = ALL
    wanted = _wanted(config)
    plan = _plan(config, wanted)
    chances = powers(plan)
    console.print(plan_table(plan, chances, config.workers))
    if chances:
        console.print(NOTE, soft_wrap=True, highlight=False)
    for name, why in plan.left_out.items():
        console.print(f"{name}: not run, {why}", markup=False, highlight=False, soft_wrap=True)
    if config.plan or listed:
        raise SystemExit(0)
    write_runs(wanted, Path(config.hydra.sweep.dir))
    if not plan.missing:
        end(config)
        raise SystemExit(0)


def train_missing(config: DictConfig) -> None:
    """Task: one worker, which trains one missing run after the other until none is left."""
    hydra = HydraConfig.get()
    out = Path(hydra.sweep.dir)
    begun = (out / RUNS).stat().st_mtime
    for run in _plan(config, read_runs(out), hydra).missing:
        _train_alone(run, begun)


def end(config: DictConfig) -> None:
    """Judge the claims, print the scoreboard and write its files.

    Ends the program with status 1 if a claim has no verdict because a run failed.
    """
    out, tier, console = Path(config.hydra.sweep.dir), _tier(config.hydra), Console()
    plan = _plan(config, read_runs(out))
    judged = judge_all(plan, validated(Scoring, config.scoring, "scoring"))
    table = printed_table(scoreboard(judged, tier, PRINTED))
    table.columns[0].no_wrap = True
    console.print(table)
    page = write_scoreboard(judged, plan.left_out, tier, out)
    if config.logger.get("_target_") == WANDB:
        from sweeps.claims.scoreboard.online import publish_claims

        publish_claims(judged, tier, out, config.logger)
    for line in (summary(judged, tier), f"open {page} in a browser"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if any(one.verdict is None for one in judged):
        raise SystemExit(1)


def _plan(config: DictConfig, wanted: Sequence[Wanted], hydra: Any = None) -> Plan:
    """Return the plan of a command, with the runs that exist now."""
    runnable, left_out = _chosen(config, _tier(hydra or config.hydra))
    return Plan(runnable, left_out, wanted, finished_runs(Path(config.outputs)))


def _wanted(config: DictConfig) -> list[Wanted]:
    """Return the runs that a command wants. Raises ``UserError`` for overrides that do not fit."""
    tier = _tier(config.hydra)
    given = config.hydra.overrides.task
    shared = [override for override in given if key_of(override).partition(".")[0] not in OWN]
    for override in shared:
        if key_of(override) == "seed":
            raise UserError(
                f"{override}: claims name their seeds; give seed_count=N for seeds 1 to N"
            )
    seeds = None if config.seed_count is None else range(1, config.seed_count + 1)
    return wanted_runs(_chosen(config, tier)[0], tier, shared, seeds)


def _chosen(config: DictConfig, tier: TierName) -> tuple[list[Claim], dict[str, str]]:
    """Return the claims to run, and those that cannot be run at the tier with the reason.

    Raises ``UserError`` for an unknown claim.
    """
    names = [config.claims] if isinstance(config.claims, str) else list(config.claims)
    chosen = choose(names)
    left_out = {claim.name: why for claim in chosen if (why := claim.why_not(tier)) is not None}
    if len(left_out) == len(chosen):
        reasons = "; ".join(f"{name} {why}" for name, why in left_out.items())
        raise UserError(f"none of the claims can be run at tier={tier}: {reasons}")
    return [claim for claim in chosen if claim.name not in left_out], left_out


def _tier(hydra: Any) -> TierName:
    chosen = hydra.runtime.choices.tier
    for tier in TIERS:
        if tier == chosen:
            return tier
    raise UserError(f"tier=null: give one of {', '.join(TIERS)}")


def _train_alone(run: Wanted, begun: float) -> None:
    """Train a run unless a worker of this command trains it or has tried; record an error.

    ``begun`` is the time at which the command began.
    """
    run.folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(run.folder / TAKEN).acquire(blocking=False)
    except Timeout:
        return
    with lock:
        if _was_tried(run.folder, begun):
            return
        with hydra_job(run.overrides, run.folder) as (job, config):
            try:
                train_in(job, config)
            except Exception as error:
                record_failure(config, job, as_user_error(error) or error)


def _was_tried(folder: Path, begun: float) -> bool:
    ends = [folder / name for name in (RESULT, FAILURE)]
    return any(file.stat().st_mtime >= begun for file in ends if file.is_file())


def _list_of(claims: list[Claim]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    for column in ("statement", "runs at", "figures"):
        table.add_column(column)
    for claim in claims:
        tiers = ", ".join(tier for tier in TIERS if claim.why_not(tier) is None)
        where = tiers or f"nowhere: needs {claim.needs}"
        table.add_row(claim.name, claim.statement, where, claim.figures)
    return table
