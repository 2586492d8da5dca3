"""Steps before the workers of studies start, and after all workers have ended."""

from pathlib import Path

import optuna
from omegaconf import DictConfig
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodules.errors import UserError
from lightning_modules.training.budgets import kind_of
from sweeps.comparison.tables import NOTHING
from sweeps.launch.compose import use_hydra_config
from sweeps.report.terminal import print_page
from sweeps.studies.final_runs import plan_final
from sweeps.studies.outcome import Outcome, write_best, write_outcome
from sweeps.studies.plan import (
    SLOT,
    StudyPlan,
    check_space,
    create_study,
    open_study,
    study_plans,
    tuned_settings,
)
from sweeps.studies.settings import shown_value
from sweeps.studies.storage import open_storage, silence_optuna


def begin(config: DictConfig) -> None:
    """Check all settings of the studies, and make or find each study.

    Raises ``UserError`` before the first training.
    """
    silence_optuna()
    plans, out = study_plans(config, config.hydra), Path(config.hydra.sweep.dir)
    for plan in plans:
        check_space(plan)
    storage = open_storage(plans[0].sweep, out, patience=0)
    for plan in plans:
        study = create_study(plan.sweep, storage, plan.overrides, plan.code)
        left = study.get_trials(deepcopy=False, states=(TrialState.WAITING, TrialState.RUNNING))
        print(f"study {plan.sweep.name}: {len(left)} trials to go")
    tuned = tuned_settings(config)
    if tuned is not None:
        plan_final(config.comparison_name, tuned, storage)


def end(config: DictConfig) -> None:
    """Print the outcome of each study, and write its best settings, tables, figures and page.

    Raises ``UserError`` if a study has no finished trial.
    """
    outcomes = find_outcomes(config)
    for outcome in outcomes:
        _print_outcome(outcome, Console())
    without = [outcome.sweep.name for outcome in outcomes if not outcome.best]
    if without:
        raise UserError(f"study {without[0]}: no trial finished, so none is the best")


def find_outcomes(config: DictConfig) -> list[Outcome]:
    """Return the outcome so far of each study of a command line."""
    silence_optuna()
    with use_hydra_config(config):
        plans, out = study_plans(config, config.hydra), Path(config.hydra.sweep.dir)
        storage = open_storage(plans[0].sweep, out)
        kind = kind_of(config)
        return [find_outcome(plan, open_study(plan.sweep, storage), kind) for plan in plans]


def find_outcome(plan: StudyPlan, study: optuna.Study, kind: str) -> Outcome:
    """Gather the trials of a study, and write its best settings as files for Hydra."""
    sweep = plan.sweep
    trials: list[FrozenTrial] = []
    if study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        trials = study.best_trials if len(sweep.objectives) > 1 else [study.best_trial]
    best = [write_best(trial, sweep, plan.overrides, plan.folder) for trial in trials]
    return Outcome(sweep, study, plan.folder, best, kind)


def _print_outcome(outcome: Outcome, console: Console) -> None:
    states = ", ".join(f"{count} {state}" for state, count in outcome.counts.items())
    title = f"study {outcome.sweep.name}: {states}; {outcome.target_tokens:,} target tokens"
    console.print(title, markup=False, highlight=False, soft_wrap=True)
    console.print(_table(outcome))
    for slot, why in outcome.failed:
        line = f" trial {'-' if slot is None else slot}: {why}"
        console.print(Text.assemble(("✗ failed", "bold red"), line), soft_wrap=True)
    for best in outcome.best:
        console.print(best.line, markup=False, highlight=False, soft_wrap=True)
    print_page(write_outcome(outcome), console)


def _table(outcome: Outcome) -> Table:
    """Return a table of the ten best trials by the first objective, the best first."""
    sweep = outcome.sweep
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("trial")
    for name in (*sweep.objectives, *sweep.space):
        table.add_column(name, justify="right", overflow="fold")
    upwards = sweep.directions[0] == "maximize"
    for trial in sorted(outcome.finished, key=lambda one: one.values[0], reverse=upwards)[:10]:
        shown = [*map(shown_value, trial.values)]
        chosen = [_shown(trial, name) for name in sweep.space]
        table.add_row(str(trial.user_attrs[SLOT]), *shown, *chosen)
    return table


def _shown(trial: FrozenTrial, name: str) -> str:
    return shown_value(trial.params[name]) if name in trial.params else NOTHING
