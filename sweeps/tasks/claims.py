"""``task=claims``: train what published claims need, and say of each what the runs show."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodules.errors import UserError, validated
from lightning_modules.figures.picture_files import FigureWidths
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.paths import RESULT
from lightning_modules.runs.settings import key_of, settings
from lightning_modules.testing.scoring import Scoring
from lightning_modules.tracking.names import is_wandb
from sweeps.claims import registration
from sweeps.claims.claim import ALL, OF_COMMANDS, TIERS, Claim, TierName, all_claims, choose
from sweeps.claims.corpora import EVERY, ClaimCorpus, choose_corpora, read_names
from sweeps.claims.evidence import ClaimResult
from sweeps.claims.forecast import last_verdicts, list_claims, notes, plan_table, prospects
from sweeps.claims.judgement import judge_all
from sweeps.claims.plan import (
    RATE,
    TOKENS,
    Choices,
    ClaimsPlan,
    PlannedRun,
    SkippedClaim,
    Systems,
    finished_runs,
    key_of_system,
    plan_runs,
    whole,
)
from sweeps.claims.registration import RegisteredFile, Registration
from sweeps.claims.scoreboard import NO_VERDICT, NOT_RUN, Scale, alarms_of_claims, summary
from sweeps.claims.scoreboard_page import publish_scoreboard, write_scoreboard
from sweeps.claims.scoreboard_tables import PRINTED, scoreboard
from sweeps.claims.tuning import (
    FILE,
    rates_table,
    read_rates,
    trial_runs,
    tuned_systems,
    write_rates,
)
from sweeps.comparison.numbers import in_words
from sweeps.launch.folders import remove_traces
from sweeps.launch.jobs import JobPlan, is_slurm, run_jobs
from sweeps.launch.live import shown_phases
from sweeps.launch.shared_trainings import copy_training
from sweeps.report.terminal import (
    FOR_PAGE,
    LONGEST_TEXT,
    MOST_LINES,
    alarm_lines,
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
    registered = _registration(plan, config, hydra)
    _print_plan(plan, config, console)
    if config.plan or listed:
        remove_traces()
        return
    if config.register:
        _register(plan, config, hydra, console)
        return
    train_missing(plan, config)
    if config.tune:
        _record_rates(plan, hydra, console)
    else:
        _judge(plan, config, hydra, registered, console)


def _print_plan(plan: ClaimsPlan, config: DictConfig, console: Console) -> None:
    known = {} if config.tune else prospects(plan)
    launcher = HydraConfig.get().launcher
    on_slurm = is_slurm(launcher)
    at_once = launcher.array_parallelism if on_slurm else config.workers
    console.print(plan_table(plan, known, at_once, on_slurm))
    for note in notes(plan, known):
        console.print(note, soft_wrap=True, highlight=False)
    for claim, why in plan.skipped:
        print_line(f"{claim.name}: not run, {why}", console)


def _content(plan: ClaimsPlan, config: DictConfig, hydra: Any) -> dict[str, Any]:
    given = config.learning_rates
    rates = {} if given is None else read_rates(Path(given))
    return registration.registered_content(plan, shared_overrides(hydra), rates)


def _registration(plan: ClaimsPlan, config: DictConfig, hydra: Any) -> Registration | None:
    """Return the registration that a command names, with what deviates."""
    if config.registration is None:
        return None
    if config.register:
        raise UserError("registration and register=true: give one of them")
    registered = RegisteredFile.read(Path(config.registration))
    return registration.compare(registered, _content(plan, config, hydra))


def _register(plan: ClaimsPlan, config: DictConfig, hydra: Any, console: Console) -> None:
    file = Path(hydra.runtime.output_dir) / registration.NAME
    registered = RegisteredFile.of(_content(plan, config, hydra))
    registered.write(file)
    for line in (
        f"claims registered in {file}: {len(plan.claims)}, SHA-256 {registered.sha256}",
        f"publish the file or its hash, then run the claims with registration={file}",
    ):
        print_line(line, console)


def train_missing(plan: ClaimsPlan, config: DictConfig) -> None:
    """Make the missing runs: rungs of a system by one job, and one training for all its tests."""
    first: list[PlannedRun] = []
    others: list[tuple[PlannedRun, PlannedRun]] = []
    for run, *twins in plan.missing_by_training:
        first.append(run)
        others += [(twin, run) for twin in twins]
        if (trained := plan.finished.trainings.get(run.training)) is not None:
            copy_training(trained, run.folder)
    tested_again = {run.training for _, run in others}
    run_jobs(config, [job_of(ladder, tested_again) for ladder in ladders_of(first)])
    for twin, run in others:
        if (run.folder / RESULT).is_file():
            copy_training(run.folder, twin.folder)
    run_jobs(config, [job_of([twin]) for twin, _ in others])


def ladders_of(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """Return the runs that one job makes together, each list by rising amounts of the budget."""
    together: dict[tuple[str, ...], list[PlannedRun]] = {}
    for run in runs:
        test = (each for each in run.overrides if not key_of(each).startswith("budget."))
        together.setdefault((run.trunk, *test), []).append(run)
    return [sorted(ladder, key=lambda run: run.amount) for ladder in together.values()]


def job_of(ladder: Sequence[PlannedRun], tested_again: Collection[str] = ()) -> JobPlan:
    """Return the job that makes the last run of a ladder, and the runs before it as its rungs.

    Four large checkpoints of each rung would fill a disk, so they go, unless ``tested_again`` has
    a training of the ladder: then they are copied for another search.
    """
    *rungs, last = ladder
    amounts = ",".join(str(whole(run.amount)) for run in rungs)
    kept = any(run.training in tested_again for run in rungs)
    further = [f"budget.rungs=[{amounts}]", f"budget.rung_checkpoints={str(kept).lower()}"]
    return JobPlan([*last.overrides, *further], last.folder, last.folder.name)


def _record_rates(plan: ClaimsPlan, hydra: Any, console: Console) -> None:
    file = Path(hydra.runtime.output_dir) / FILE
    tuned, missing = tuned_systems(plan)
    console.print(rates_table(tuned))
    write_rates(tuned, file)
    lines = [f"{system}: a trial failed, no rate" for system in missing]
    lines.append(f"rates are in {file}; train the claims with learning_rates={file}")
    for line in lines:
        print_line(line, console)
    if missing:
        raise SystemExit(1)


def _judge(
    plan: ClaimsPlan,
    config: DictConfig,
    hydra: Any,
    registered: Registration | None,
    console: Console,
) -> None:
    out = Path(hydra.runtime.output_dir)
    about = () if registered is None else (registered.sha256, registered.deviations)
    scale = Scale.of(plan.tier, shared_overrides(hydra), *about)
    with shown_phases() as enter:
        enter(f"judging {len(plan.claims)} claims")
        results = judge_all(plan, validated(Scoring, config.scoring, "scoring"))
        if config.learning_rates is not None:
            results = [replace(one, tuned=True) for one in results]
        enter("writing the page")
        page = write_scoreboard(results, scale, FigureWidths.of(config), out)
    print_results(results, scale, console)
    if is_wandb(config.logger):
        publish_scoreboard(results, scale, out, config.logger)
    for line in (summary(results, scale), f"open {page} in a browser"):
        print_line(line, console)
    if registered is not None:
        print_line(registered.text(), console)
    if any(one.failure is not None for one in results):
        raise SystemExit(1)


def print_results(results: Sequence[ClaimResult], scale: Scale, console: Console) -> None:
    """Print the claims that failed, alarms, then the verdicts that there is room for."""
    lost = [(one.claim.name, one.failure) for one in results if one.failure is not None]
    first = list(failures(NO_VERDICT, lost))
    if alarms := alarms_of_claims(results):
        first += alarm_lines(alarms)
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


def make_plan(config: DictConfig, hydra: Any) -> ClaimsPlan:
    """Return the plan of a command, with the runs that exist now.

    ``hydra`` is the node of Hydra. Raises ``UserError`` for overrides that do not fit.
    """
    tier, shared = tier_of(hydra), shared_overrides(hydra)
    for override in shared:
        if key_of(override) == "seed":
            raise UserError(
                f"{override}: claims name their seeds; give seed_count=N for N of them, and "
                "first_seed=N for others"
            )
    if config.tune:
        _refuse_beside_tune(config, shared)
    claims, corpora, skipped = chosen_claims(config, tier)
    roots = {name: str(root) for name, root in config.roots.items() if root is not None}
    systems = Systems(tier, shared, roots)
    choices = Choices(chosen_seeds(config), chosen_rungs(config))
    if config.learning_rates is not None:
        choices = choices._replace(rates=_rates(config, claims, systems))
    runs, rungs = plan_runs(claims, corpora, systems, choices)
    if config.tune:  # after the check above, that the systems of a claim differ
        runs = trial_runs(claims, corpora, rungs, systems)
    finished = finished_runs(Path(config.outputs))
    return ClaimsPlan(tier, claims, skipped, runs, corpora, rungs, finished)


def chosen_seeds(config: DictConfig) -> Sequence[int] | None:
    """Return the seeds that a command gives to every system; None for those of the claims."""
    if config.seed_count is None:
        if config.first_seed != 1:
            raise UserError(f"first_seed={config.first_seed}: give seed_count=N too")
        return None
    return range(config.first_seed, config.first_seed + config.seed_count)


def chosen_rungs(config: DictConfig) -> Sequence[float] | None:
    """Return the rungs of a command. Raises ``UserError`` unless they rise."""
    if config.rungs is None:
        return None
    rungs, amount = [*config.rungs], settings()[f"budget.{TOKENS}"].type
    if wrong := [rung for rung in rungs if not amount.allows(amount.meant(rung, None))]:
        raise UserError(f"rungs={rungs}: {wrong[0]} is no number of target tokens; give {amount}")
    if not rungs or any(later <= earlier for earlier, later in pairwise(rungs)):
        raise UserError(f"rungs={rungs}: give amounts of target tokens that rise")
    return rungs


def shared_overrides(hydra: Any) -> list[str]:
    """Return the overrides of a command that every run takes."""
    given = given_overrides(hydra)
    return [each for each in given if key_of(each).partition(".")[0] not in OF_COMMANDS]


def _refuse_beside_tune(config: DictConfig, shared: Sequence[str]) -> None:
    for key, why in (
        ("learning_rates", "trials have own rates"),
        ("seed_count", "trials have one seed"),
        ("register", "trials decide nothing"),
        ("registration", "trials decide nothing"),
    ):
        if config[key]:
            raise UserError(f"tune=true and {key}: give one of them, {why}")
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


def chosen_claims(
    config: DictConfig, tier: TierName
) -> tuple[list[Claim], dict[str, list[ClaimCorpus]], list[SkippedClaim]]:
    """Return the claims to run, the corpora of each, and the claims that cannot be run, with why.

    Raises ``UserError`` for an unknown claim or corpus, and if no claim can be run.
    """
    given, on = (
        OmegaConf.to_container(each) if OmegaConf.is_config(each) else each
        for each in (config.claims, config.corpora)
    )
    names = read_names(on, tier)
    corpora: dict[str, list[ClaimCorpus]] = {}
    skipped: list[SkippedClaim] = []
    claims = choose(given)
    for claim in claims:
        why = claim.why_not(tier)
        if why is None:
            chosen = choose_corpora(claim, tier, names, on == EVERY)
            judged = [each for each in chosen if claim.margin.unit == "score" or each.attention]
            corpora[claim.name] = judged
            if not chosen:
                why = f"is not for corpora={on}: its file names other corpora or languages"
            elif not judged:
                unknown = ", ".join(each.name for each in chosen)
                why = (
                    "has a margin in shares of what attention brings, which "
                    f"conf/claim/corpora.yaml does not know of {unknown}"
                )
        if why is not None:
            skipped.append(SkippedClaim(claim, why))
    if len(skipped) == len(claims):
        reasons = "; ".join(f"{claim.name} {why}" for claim, why in skipped)
        raise UserError(f"none of the claims can be run at tier={tier}: {reasons}")
    left_out = {claim.name for claim, _ in skipped}
    return [claim for claim in claims if claim.name not in left_out], corpora, skipped


def tier_of(hydra: Any) -> TierName:
    """Return the tier of a command. Raises ``UserError`` without one."""
    chosen = hydra.runtime.choices.tier
    for tier in TIERS:
        if tier == chosen:
            return tier
    raise UserError(f"tier=null: give one of {', '.join(TIERS)}")
