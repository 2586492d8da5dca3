"""The course of studies around their workers."""

from pathlib import Path

import optuna
from omegaconf import DictConfig
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodules.errors import UserError
from lightning_modules.budgets import Kind, kind_of
from sweeps.studies.best import write_best
from sweeps.studies.compose import current
from sweeps.studies.final import plan_final
from sweeps.studies.outcome import Outcome
from sweeps.studies.page import write_outcome
from sweeps.studies.places import SLOT
from sweeps.studies.planned import Planned, build_tuned, check_space, planned
from sweeps.studies.storage import open_storage, quiet
from sweeps.studies.study import open_study, plan


def begin(config: DictConfig) -> None:
    """Check everything that can be checked, and make or find the studies.

    Raises ``UserError`` before anything is trained.
    """
    quiet()
    studies, out = planned(config, config.hydra), Path(config.hydra.sweep.dir)
    for study in studies:
        check_space(study)
    storage = open_storage(studies[0].sweep, out, patience=0)
    for study in studies:
        made = plan(study.sweep, storage, study.overrides)
        left = made.get_trials(deepcopy=False, states=(TrialState.WAITING, TrialState.RUNNING))
        print(f"study {study.sweep.name}: {len(left)} trials to go")
    tuned = build_tuned(config)
    if tuned is not None:
        plan_final(config.comparison_name, tuned, storage)


def end(config: DictConfig) -> None:
    """Print what was found, and write it: the best settings for Hydra, tables, figures, pages.

    Raises ``UserError`` if a study has no finished trial.
    """
    outcomes = find_outcomes(config)
    for outcome in outcomes:
        _tell(outcome, Console())
    without = [outcome.sweep.name for outcome in outcomes if not outcome.best]
    if without:
        raise UserError(f"study {without[0]}: no trial finished, so none is the best")


def find_outcomes(config: DictConfig) -> list[Outcome]:
    """What the studies of a command line have found so far."""
    quiet()
    with current(config):
        studies, out = planned(config, config.hydra), Path(config.hydra.sweep.dir)
        storage = open_storage(studies[0].sweep, out)
        kind = kind_of(config)
        return [find_outcome(one, open_study(one.sweep, storage), kind) for one in studies]


def _tell(outcome: Outcome, console: Console) -> None:
    console.print(_table(outcome))
    for slot, why in outcome.failed:
        line = f" trial {'-' if slot is None else slot}: {why}"
        console.print(Text.assemble(("✗ failed", "bold red"), line), soft_wrap=True)
    for best in outcome.best:
        console.print(best.told, markup=False, soft_wrap=True)
    page = write_outcome(outcome)
    console.print(f"open {page} in a browser", markup=False, highlight=False, soft_wrap=True)


def find_outcome(planned: Planned, study: optuna.Study, kind: Kind) -> Outcome:
    """Gather what a study found, and write its best settings as files for Hydra."""
    sweep = planned.sweep
    best: list[FrozenTrial] = []
    if study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        best = study.best_trials if len(sweep.objectives) > 1 else [study.best_trial]
    written = [write_best(trial, sweep, planned.overrides, planned.folder) for trial in best]
    return Outcome(sweep, study, planned.folder, written, kind)


def _table(outcome: Outcome) -> Table:
    """The best trials, the best first; of several objectives, by the first."""
    sweep = outcome.sweep
    told = ", ".join(f"{count} {state}" for state, count in outcome.counts.items())
    title = f"study {sweep.name}: {told}; {outcome.target_tokens:,} target tokens"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("trial")
    for name in (*sweep.objectives, *sweep.space):
        table.add_column(name, justify="right", overflow="fold")
    upwards = sweep.directions[0] == "maximize"
    for trial in sorted(outcome.finished, key=lambda one: one.values[0], reverse=upwards)[:10]:
        shown = [f"{value:.5g}" for value in trial.values]
        chosen = [_shown(trial, name) for name in sweep.space]
        table.add_row(str(trial.user_attrs[SLOT]), *shown, *chosen)
    return table


def _shown(trial: FrozenTrial, name: str) -> str:
    value = trial.params.get(name, "–")
    return f"{value:.4g}" if isinstance(value, float) else str(value)
