"""The course of a study around its workers."""

from collections import Counter
from pathlib import Path

import optuna
from hydra import compose
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodules.errors import UserError
from sweeps.errors import as_user_error
from sweeps.studies.best import write_best
from sweeps.studies.compose import base_overrides
from sweeps.studies.settings import Sweep, build_sweep
from sweeps.studies.space import Value, as_overrides
from sweeps.studies.storage import open_storage, quiet
from sweeps.studies.study import REASON, SLOT, open_study, plan
from sweeps.studies.trial import TOKENS


def begin(config: DictConfig) -> None:
    """Check everything that can be checked, and make or find the study.

    Raises ``UserError`` before anything is trained.
    """
    quiet()
    sweep, folder = build_sweep(config), Path(config.hydra.sweep.dir)
    overrides = base_overrides(config.hydra.overrides.task)
    check_space(sweep, overrides)
    study = plan(sweep, open_storage(sweep, folder), overrides)
    left = study.get_trials(deepcopy=False, states=(TrialState.WAITING, TrialState.RUNNING))
    print(f"study {sweep.name}: {len(left)} of {sweep.trials} trials to go")


def check_space(sweep: Sweep, overrides: list[str]) -> None:
    """Check that every parameter is an override that Hydra takes. Raises ``UserError``."""
    for name, parameter in sweep.space.items():
        chosen: dict[str, Value] = {
            other: wanted[0] if isinstance(wanted, list) else wanted
            for other, wanted in parameter.when.items()
        }
        chosen[name] = getattr(parameter, "low", None) or getattr(parameter, "choices", [None])[0]
        try:
            compose("config", [*overrides, *as_overrides(chosen)])
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(f"sweep.space.{name}: {as_user_error(error)}") from None


def end(config: DictConfig) -> None:
    """Print what was found, and write the best settings as a file for Hydra.

    Raises ``UserError`` if no trial finished.
    """
    sweep, folder = build_sweep(config), Path(config.hydra.sweep.dir)
    study = open_study(sweep, open_storage(sweep, folder))
    console = Console()
    console.print(_table(study, sweep))
    _print_reasons(study, console)
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        raise UserError("no trial finished, so there is nothing to choose from")
    overrides = base_overrides(config.hydra.overrides.task)
    best = study.best_trials if len(sweep.objectives) > 1 else [study.best_trial]
    for trial in best:
        told = write_best(trial, sweep, overrides, folder)
        console.print(told, markup=False, soft_wrap=True)


def _table(study: optuna.Study, sweep: Sweep) -> Table:
    """The best trials, the best first; of several objectives, by the first."""
    trials = study.get_trials(deepcopy=False)
    counts = Counter(trial.state.name.lower() for trial in trials)
    tokens = sum(trial.user_attrs.get(TOKENS, 0) for trial in trials)
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    title = f"study {sweep.name}: {told}; {tokens:,} target tokens"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("trial")
    for name in (*sweep.objectives, *sweep.space):
        table.add_column(name, justify="right", overflow="fold")
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    upwards = sweep.directions[0] == "maximize"
    for trial in sorted(finished, key=lambda one: one.values[0], reverse=upwards)[:10]:
        shown = [f"{value:.5g}" for value in trial.values]
        chosen = [_shown(trial, name) for name in sweep.space]
        table.add_row(str(trial.user_attrs[SLOT]), *shown, *chosen)
    return table


def _shown(trial: FrozenTrial, name: str) -> str:
    value = trial.params.get(name, "–")
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_reasons(study: optuna.Study, console: Console) -> None:
    for trial in study.get_trials(deepcopy=False, states=(TrialState.FAIL,)):
        reason = trial.user_attrs.get(REASON, "its worker died")
        line = f" trial {trial.user_attrs.get(SLOT, '-')}: {reason}"
        console.print(Text.assemble(("✗ failed", "bold red"), line), soft_wrap=True)
