"""``task=claims``: train what published claims need, and say of each whether it held."""

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodules.errors import UserError, one_line, validated
from datamodules.files import write_text
from lightning_modules.runs.files import read_result
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.paths import CHECKPOINTS, HISTORY, RESULT
from lightning_modules.runs.schema import Training
from lightning_modules.runs.settings import key_of
from lightning_modules.testing.scoring import Scoring
from lightning_modules.tracking.names import is_wandb
from lightning_modules.training.validations import Validation
from sweeps.claims.claim import ALL, OF_COMMANDS, TIERS, Claim, TierName, all_claims, choose
from sweeps.claims.evidence import ClaimResult, add_untuned_verdicts, judge_all
from sweeps.claims.forecast import JOB_TIME, NOTE, last_verdicts, list_claims, plan_table, prospects
from sweeps.claims.plan import (
    RATE,
    ClaimsPlan,
    Need,
    PlannedRun,
    SkippedClaim,
    Systems,
    finished_runs,
    key_of_system,
    plan_runs,
)
from sweeps.claims.scoreboard import NO_VERDICT, NOT_RUN, PRINTED, Scale, scoreboard, summary
from sweeps.claims.scoreboard_page import publish_scoreboard, write_scoreboard
from sweeps.comparison.numbers import in_words
from sweeps.launch.folders import remove_traces
from sweeps.launch.jobs import JobPlan, run_jobs
from sweeps.report.terminal import (
    FOR_PAGE,
    LONGEST_TEXT,
    MOST_LINES,
    failures,
    fitting,
    print_line,
    rich_table,
    shorten,
)

LIST = "list"


def retest_claims(config: DictConfig) -> None:
    """Task: plan, train what is missing, then judge the claims or choose learning rates.

    Raises ``UserError`` before the first training. Ends the program with status 1 if a claim has no
    verdict, or a system no rate, because a run failed.
    """
    hydra, console = HydraConfig.get(), Console()
    listed = config.claims == LIST
    if listed:
        console.print(list_claims(all_claims().values(), last_verdicts(Path(config.outputs))))
        config.claims = ALL
    if listed and hydra.runtime.choices["tier"] is None:
        remove_traces()
        return
    plan = make_plan(config, hydra)
    _print_plan(plan, config, console)
    if config.plan or listed:
        remove_traces()
        return
    train_missing(plan, config)
    if config.tune:
        _record_rates(plan, hydra, console)
    else:
        _judge(plan, config, hydra, console)


def _print_plan(plan: ClaimsPlan, config: DictConfig, console: Console) -> None:
    known = {} if config.tune else prospects(plan)
    console.print(plan_table(plan, known, config.workers))
    for note in (JOB_TIME, NOTE) if known else (JOB_TIME,):
        console.print(note, soft_wrap=True, highlight=False)
    for claim, why in plan.skipped:
        print_line(f"{claim.name}: not run, {why}", console)


def train_missing(plan: ClaimsPlan, config: DictConfig) -> None:
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


def _record_rates(plan: ClaimsPlan, hydra: Any, console: Console) -> None:
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


def _judge(plan: ClaimsPlan, config: DictConfig, hydra: Any, console: Console) -> None:
    out = Path(hydra.runtime.output_dir)
    scale = Scale.of(tier_of(hydra), shared_overrides(hydra))
    scoring = validated(Scoring, config.scoring, "scoring")
    results = judge_all(plan, scoring)
    if config.learning_rates is not None:
        untuned = judge_all(replace(plan, runs=plan.untuned), scoring)
        results = add_untuned_verdicts(results, untuned)
    print_results(results, scale, console)
    page = write_scoreboard(results, scale, out)
    if is_wandb(config.logger):
        publish_scoreboard(results, scale, out, config.logger)
    for line in (summary(results, scale), f"open {page} in a browser"):
        print_line(line, console)
    if any(one.failure is not None for one in results):
        raise SystemExit(1)


def print_results(results: Sequence[ClaimResult], scale: Scale, console: Console) -> None:
    """Print the claims that failed, then the verdicts that there is room for."""
    lost = [(one.claim.name, one.failure) for one in results if one.failure is not None]
    first = list(failures(NO_VERDICT, lost))
    not_run = [one.claim.name for one in results if one.not_run is not None]
    if not_run:
        first.append(
            Text(shorten(f"{NOT_RUN}, the page says why: {in_words(not_run)}", LONGEST_TEXT))
        )
    used = sum(len(console.render_lines(each)) for each in first) + FOR_PAGE
    whole = scoreboard(results, scale, PRINTED)

    def verdicts(rows: int) -> Table:
        left_out = f"; {rows} of {len(results)}, the page has all" if rows < len(results) else ""
        table = rich_table(replace(whole, title=whole.title + left_out, rows=whole.rows[:rows]))
        for key in ("claim", "ours"):
            table.columns[PRINTED.index(key)].no_wrap = True
        return table

    for each in (*first, fitting(verdicts, len(results), MOST_LINES - used, console)):
        console.print(each)


SEED = 0
FACTORS = (0.5, 1.0, 2.0)  # of the rate of the system's files
FILE = "learning_rates.yaml"
HEADER = """# Learning rates of systems, chosen alike: of half, once and twice the rate of their
# files, the one with the highest BLEU on the validation set, in one training each with seed 0.
"""


class RateSearch(NamedTuple):
    """The trials of a system: one for each learning rate."""

    system: str
    tried: Mapping[float, Validation]
    """Validation of the tested weights by the learning rate, in rising order of the rates."""

    @property
    def rate(self) -> float:
        """The rate of the highest BLEU, then of the lowest loss; of equals, the lowest rate."""
        return min(self.tried, key=lambda rate: (-self.tried[rate].bleu, self.tried[rate].loss))

    @property
    def at_the_edge(self) -> bool:
        """Whether no rate beyond the best was tried on one side."""
        return self.rate in (min(self.tried), max(self.tried))


def trial_runs(claims: Iterable[Claim], systems: Systems) -> list[PlannedRun]:
    """Return the trials of every system of some claims, each once, also for several searches.

    Raises ``UserError`` for overrides that do not fit, with the claim.
    """
    planned: dict[str, PlannedRun] = {}
    for claim in claims:
        for system in claim.systems:
            own = float(systems.config(claim, system)[0].optimizer.lr)
            for factor in FACTORS:
                rate = None if factor == 1.0 else factor * own
                run = systems.run(claim, system, SEED, rate)
                planned.setdefault(run.training, run).needs.append(Need(claim.name, system, SEED))
    return list(planned.values())


def tuned_systems(plan: ClaimsPlan, tier: TierName) -> tuple[list[RateSearch], list[str]]:
    """Return what the trials of a plan have shown, and the systems of which a trial is missing."""
    claims = {claim.name: claim for claim in plan.claims}
    found: dict[str, dict[float, Validation]] = {}
    missing: set[str] = set()
    for run in plan.runs:
        result = read_result(plan.folder(run))
        for need in run.needs:
            key = key_of_system(claims[need.claim], need.system, tier)
            training = Training() if result is None else result.training
            if result is None or training.val_loss is None or training.val_bleu is None:
                missing.add(key)
            else:
                rate = float(result.config["optimizer"]["lr"])
                tried = Validation(training.val_loss, training.val_bleu)
                found.setdefault(key, {})[rate] = tried
    complete = [(key, sorted(tried.items())) for key, tried in found.items() if key not in missing]
    return [RateSearch(key, dict(tried)) for key, tried in complete], [*missing]


def write_rates(tuned: Sequence[RateSearch], file: Path) -> None:
    """Write the best rates by system."""
    rates = {each.system: each.rate for each in tuned}
    write_text(file, HEADER + yaml.safe_dump(rates, sort_keys=False, width=1000))


def read_rates(file: Path) -> dict[str, float]:
    """Read what ``write_rates`` wrote. Raises ``UserError`` for another file."""
    setting = f"learning_rates={file}"
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{setting}: {one_line(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{setting}: give a file that tune=true has written")
    for system, rate in content.items():
        if not isinstance(rate, float | int) or isinstance(rate, bool) or not 0 < rate < math.inf:
            raise UserError(f"{setting}: {system} has the rate {rate}; a rate is a number above 0")
    return {str(system): float(rate) for system, rate in content.items()}


def rates_table(tuned: Sequence[RateSearch]) -> Table:
    """Return a row for each system: rates with their validation BLEU, and the best."""
    table = Table(title="Validation BLEU by learning rate", title_justify="left", box=None)
    for name in ("system", "rates", "best"):
        table.add_column(name, overflow="fold")
    for each in tuned:
        tried = ", ".join(f"{rate:g}: {one.bleu:.2f}" for rate, one in each.tried.items())
        edge = " (at the edge)" if each.at_the_edge else ""
        table.add_row(each.system, tried, f"{each.rate:g}{edge}")
    return table


def make_plan(config: DictConfig, hydra: Any) -> ClaimsPlan:
    """Return the plan of a command, with the runs that exist now.

    ``hydra`` is the node of Hydra. Raises ``UserError`` for overrides that do not fit.
    """
    tier, shared = tier_of(hydra), shared_overrides(hydra)
    for override in shared:
        if key_of(override) == "seed":
            raise UserError(
                f"{override}: claims name their seeds; give seed_count=N for seeds 1 to N"
            )
    claims, skipped = chosen_claims(config, tier)
    systems = Systems(tier, shared)
    if config.tune:
        _refuse_beside_tune(config, shared)
    seeds = None if config.seed_count is None else range(1, config.seed_count + 1)
    untuned = runs = plan_runs(claims, systems, seeds)
    if config.tune:  # after the check above, that the systems of a claim differ
        runs = trial_runs(claims, systems)
    elif config.learning_rates is not None:
        runs = plan_runs(claims, systems, seeds, _rates(config, claims, systems))
    return ClaimsPlan(claims, skipped, runs, finished_runs(Path(config.outputs)), untuned)


def shared_overrides(hydra: Any) -> list[str]:
    """Return the overrides of a command that every run takes."""
    given = given_overrides(hydra)
    return [each for each in given if key_of(each).partition(".")[0] not in OF_COMMANDS]


def _refuse_beside_tune(config: DictConfig, shared: Sequence[str]) -> None:
    for key, has in (("learning_rates", "own rates"), ("seed_count", "one seed")):
        if config[key] is not None:
            raise UserError(f"tune=true and {key}: give one of them, trials have {has}")
    for override in shared:
        if key_of(override) == RATE:
            raise UserError(f"tune=true and {override}: give one of them, trials have own rates")


def _rates(config: DictConfig, claims: list[Claim], systems: Systems) -> dict[str, float]:
    """Return the recorded rates. Raises ``UserError`` unless each system has exactly one rate."""
    setting = f"learning_rates={config.learning_rates}"
    rates = read_rates(Path(config.learning_rates))
    if any(key_of(override) == RATE for override in systems.shared):
        raise UserError(f"{setting} and {RATE}: give one of them")
    for claim in claims:
        for system in claim.systems:
            key = key_of_system(claim, system, systems.tier)
            if key not in rates:
                raise UserError(
                    f"{setting} has no rate of {key} ({claim.name}); the same command with "
                    "tune=true and without learning_rates finds it"
                )
    return rates


def chosen_claims(config: DictConfig, tier: TierName) -> tuple[list[Claim], list[SkippedClaim]]:
    """Return the claims to run, and those that cannot be run at the tier with the reason.

    Raises ``UserError`` for an unknown claim.
    """
    given = config.claims
    chosen = choose(OmegaConf.to_container(given) if OmegaConf.is_config(given) else given)
    skipped = [SkippedClaim(each, why) for each in chosen if (why := each.why_not(tier))]
    if len(skipped) == len(chosen):
        reasons = "; ".join(f"{claim.name} {why}" for claim, why in skipped)
        raise UserError(f"none of the claims can be run at tier={tier}: {reasons}")
    return [claim for claim in chosen if not claim.why_not(tier)], skipped


def tier_of(hydra: Any) -> TierName:
    """Return the tier of a command. Raises ``UserError`` without one."""
    chosen = hydra.runtime.choices.tier
    for tier in TIERS:
        if tier == chosen:
            return tier
    raise UserError(f"tier=null: give one of {', '.join(TIERS)}")
