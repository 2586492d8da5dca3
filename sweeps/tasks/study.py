"""``sweep=FAMILY``: tune the settings of one variant, or of several to compare their best."""

from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodules.errors import UserError
from lightning_modules.figures.picture_files import FigureWidths
from lightning_modules.runs.files import find_runs, write_record
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.paths import FAILURE
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Failure
from lightning_modules.training.budgets import kind_of
from sweeps.comparison.numbers import NOTHING
from sweeps.launch.jobs import JobPlan, check_launcher, is_slurm, run_jobs
from sweeps.launch.live import labels_of
from sweeps.report.report import check_sections
from sweeps.report.terminal import (
    LEAST_TABLE,
    MOST_LINES,
    failures,
    fitting,
    print_line,
    print_page,
)
from sweeps.studies.draws import SLOT
from sweeps.studies.live_trials import StudyView
from sweeps.studies.outcome import StudyOutcome, find_outcomes, write_outcome
from sweeps.studies.plan import (
    StudyPlan,
    Tuning,
    check_plan,
    check_text,
    check_trials,
    create_study,
    order_of,
    study_plans,
    tuned_settings,
)
from sweeps.studies.settings import as_overrides, shown_value
from sweeps.studies.storage import check_nodes, open_storage, silence_optuna
from sweeps.studies.worker import work
from sweeps.tasks.compare import compare_jobs

MOST_ROWS, MOST_BEST = 10, 2  # trials in the table of an outcome, and trials whose commands follow
LINES_OF_BEST = MOST_BEST + 3  # with title, doubt and page


def study(config: DictConfig) -> None:
    """Task: run the trials of the studies by several workers, print and write the outcomes.

    With ``config.tuned`` the best settings of each variant are then trained with fresh seeds, and
    compared. A job with ``config.sweep.worker`` is one of the workers. Raises ``UserError`` for
    settings that cannot be used, before the first training, and for a study without a finished
    trial.
    """
    if "sweep" not in config:
        raise UserError("task=study: give a search space, like sweep=recurrent")
    hydra = HydraConfig.get()
    given, number = given_overrides(hydra), config.sweep.worker
    out = Path(hydra.runtime.output_dir if number is None else hydra.sweep.dir)
    plans, tuned = study_plans(config, given, out), tuned_settings(config)
    silence_optuna()
    if number is not None:
        work(plans, out, number)
        return
    check_launcher(hydra.launcher)
    if is_slurm(hydra.launcher):
        check_nodes(plans[0].sweep)
    if tuned is not None:
        check_sections(config)
    if enqueue(plans, out):
        workers = range(plans[0].sweep.workers)
        jobs = [JobPlan([*given, f"sweep.worker={n}"], out / f"worker-{n}") for n in workers]
        run_jobs(config, jobs, StudyView(plans, out))
    outcomes = find_outcomes(plans, out, kind_of(config))
    print_outcomes(outcomes, FigureWidths.of(config), Console())
    if tuned is not None:
        _train_best(config, plans, tuned, outcomes, out)
    if without := [outcome.sweep.name for outcome in outcomes if not outcome.best]:
        raise UserError(f"study {without[0]}: no trial finished, so none is the best")


def enqueue(plans: Sequence[StudyPlan], out: Path) -> int:
    """Make or find each study; return the number of trials that have not ended."""
    for plan in plans:
        check_plan(plan)
        check_trials(plan)
    check_text(plans[0])  # all variants have the same text
    storage, left = open_storage(plans[0].sweep, out), 0
    for plan in plans:
        made = create_study(plan.sweep, storage, plan.overrides, plan.code)
        states = (TrialState.WAITING, TrialState.RUNNING)
        count = len(made.get_trials(deepcopy=False, states=states))
        print(f"study {plan.sweep.name}: {count} trials to go")
        left += count
    return left


def _train_best(
    config: DictConfig,
    plans: Sequence[StudyPlan],
    tuned: Tuning,
    outcomes: Sequence[StudyOutcome],
    out: Path,
) -> None:
    """Train and test the best settings of each variant with fresh seeds, and compare the runs."""
    pairs = zip(plans, outcomes, strict=True)
    runs = [(plan, outcome, seed) for plan, outcome in pairs for seed in tuned.seeds]
    labels = labels_of([[f"model={plan.variant}", f"seed={seed}"] for plan, _, seed in runs])
    jobs = []
    for slot, (plan, outcome, seed) in enumerate(runs):
        folder, overrides = out / str(slot), [*plan.overrides, f"seed={seed}", "task=train"]
        if outcome.best:
            overrides += as_overrides(outcome.best[0].settings)
            jobs.append(JobPlan(overrides, folder, labels[slot]))
        else:
            why = f"study {plan.sweep.name}: no trial finished"
            failure = Failure(
                variant=plan.variant, seed=seed, overrides=redacted(overrides), error=why
            )
            write_record(folder / FAILURE, failure)
    run_jobs(config, jobs)
    shown = {job.folder: job.label for job in jobs if job.folder is not None}
    compare_jobs(config, {run: shown.get(run, run.name) for run in find_runs(out)}, out)


def print_outcomes(
    outcomes: Sequence[StudyOutcome], widths: FigureWidths, console: Console
) -> None:
    """Print the failed trials of studies, then the best ones, and write the studies' pages."""
    failed = [
        (f"trial {slot} of study {outcome.sweep.name}", why)
        for outcome in outcomes
        for slot, why in outcome.failed
    ]
    first = list(failures("failed", failed))
    for each in first:
        console.print(each, no_wrap=True, overflow="ellipsis")
    for outcome in outcomes:
        _print_outcome(outcome, console, (MOST_LINES - len(first)) // len(outcomes))
        print_page(write_outcome(outcome, widths), console)


def _print_outcome(outcome: StudyOutcome, console: Console, lines: int) -> None:
    states = ", ".join(f"{count} {state}" for state, count in outcome.counts.items())
    title = f"study {outcome.sweep.name}: {states}; {outcome.target_tokens:,} target tokens"
    print_line(title, console)
    if (left := lines - LINES_OF_BEST) >= LEAST_TABLE:
        console.print(fitting(lambda rows: _table(outcome, rows), MOST_ROWS, left, console))
    if outcome.doubt:
        console.print(Text.assemble(("! ", "bold yellow"), outcome.doubt), soft_wrap=True)
    for best in outcome.best[:MOST_BEST]:
        line = f"best: trial {best.slot}, {best.scores}; {best.command}"
        print_line(line, console)


def _table(outcome: StudyOutcome, rows: int) -> Table:
    """Return a table of the best trials by the first objective, the best first."""
    sweep = outcome.sweep
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("trial")
    for name in (*sweep.objectives, *sweep.space):
        table.add_column(name, justify="right", overflow="fold")
    ordered = sorted(outcome.finished, key=lambda trial: order_of(trial, outcome.upwards))
    for trial in ordered[:rows]:
        shown = [*map(shown_value, trial.values)]
        table.add_row(str(trial.user_attrs[SLOT]), *shown, *(_shown(trial, n) for n in sweep.space))
    return table


def _shown(trial: FrozenTrial, name: str) -> str:
    return shown_value(trial.params[name]) if name in trial.params else NOTHING
