"""A table of the trials of a running study in the terminal, kept up to date."""

from collections.abc import Sequence
from pathlib import Path

import optuna
from omegaconf import DictConfig
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from lightning_modules.runs.files import read_state
from lightning_modules.runs.paths import PROGRESS
from lightning_modules.runs.schema import JobState
from sweeps.comparison.tables import NOTHING
from sweeps.launch.live import QuietView, clock, job_label, job_table
from sweeps.studies.plan import (
    SLOT,
    StudyPlan,
    Tuned,
    seed_folder,
    study_plans,
    trial_folder,
    tuned_settings,
)
from sweeps.studies.settings import shown_value
from sweeps.studies.storage import open_storage

ENDED = 10
"""Number of ended trials in the table of a study."""
STATES = {
    TrialState.COMPLETE: Text("done", "green"),
    TrialState.PRUNED: Text("pruned", "dim"),
    TrialState.FAIL: Text("failed", "bold red"),
}


class LiveTrials(QuietView):
    """The tables of all studies while their trials run, then the table of the final runs."""

    def __init__(
        self,
        plans: Sequence[StudyPlan],
        storage: BaseStorage,
        tuned: Tuned | None,
        out: Path,
        console: Console,
    ) -> None:
        super().__init__(self._drawn, console)
        self._plans, self._storage, self._out = plans, storage, out
        self._final: list[str] = []
        if tuned is not None:
            models = [f"model={name}" for name in tuned.variants]
            self._final = [job_label([model, f"seed={s}"]) for model in models for s in tuned.seeds]

    def _drawn(self) -> RenderableType | None:
        """Return the tables; None, which leaves them as they are, without an answer in time."""
        try:
            studies = [
                optuna.load_study(study_name=plan.sweep.name, storage=self._storage).get_trials()
                for plan in self._plans
            ]
        except (StorageInternalError, SQLAlchemyError):
            return None
        tables = [
            study_table(plan, trials) for plan, trials in zip(self._plans, studies, strict=True)
        ]
        ended = all(trial.state.is_finished() for trials in studies for trial in trials)
        finals = [job_table(self._out, self._final)] if ended and self._final else []
        return Group(*tables, *finals)


def view_of(config: DictConfig) -> LiveTrials:
    """Return the tables of the studies of a command."""
    plans, out = study_plans(config, config.hydra), Path(config.hydra.sweep.dir)
    storage = open_storage(plans[0].sweep, out, patience=0)
    return LiveTrials(plans, storage, tuned_settings(config), out, Console())


def study_table(plan: StudyPlan, trials: Sequence[FrozenTrial]) -> RenderableType:
    """Return a table: all running trials, then the ended ones, the best first, ``ENDED`` at most.

    A study without a running trial is one line.
    """
    sweep = plan.sweep
    upwards = sweep.directions[0] == "maximize"
    done = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    done.sort(key=lambda trial: trial.values[0], reverse=upwards)
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    others = [trial for trial in trials if trial.state in (TrialState.PRUNED, TrialState.FAIL)]
    ended = [*done, *others]
    best = f", best {sweep.objectives[0]} {shown_value(done[0].values[0])}" if done else ""
    title = f"study {sweep.name}: {len(ended)} of {len(trials)} trials ended{best}"
    if not running:
        return Text(title)
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("trial")
    table.add_column("state")
    for name in ("done", "left", *sweep.objectives, *sweep.space):
        table.add_column(name, justify="right", overflow="fold")
    for trial in [*running, *ended[:ENDED]]:
        table.add_row(*_cells(plan, trial))
    return Group(Text(title), table)


def _cells(plan: StudyPlan, trial: FrozenTrial) -> list[Text | str]:
    sweep, slot = plan.sweep, trial.user_attrs.get(SLOT)
    params = trial.params
    chosen = [shown_value(params[name]) if name in params else NOTHING for name in sweep.space]
    number = NOTHING if slot is None else str(slot)
    if trial.state != TrialState.RUNNING:
        values = [*map(shown_value, trial.values or ())]
        values += [NOTHING] * (len(sweep.objectives) - len(values))
        return [number, STATES[trial.state], NOTHING, NOTHING, *values, *chosen]
    before, state = _progress(plan, trial)
    doing = state.doing or "starting"
    if len(sweep.seeds) > 1:
        doing = f"{doing}, seed {before + 1} of {len(sweep.seeds)}"
    share = (before + state.share) / len(sweep.seeds)
    left = NOTHING if state.seconds_left is None else clock(state.seconds_left)
    bleu = NOTHING if state.val_bleu is None else f"{state.val_bleu:.2f}"
    values = [bleu if objective == "bleu" else NOTHING for objective in sweep.objectives]
    return [number, Text(doing, "cyan"), f"{share:.0%}", left, *values, *chosen]


def _progress(plan: StudyPlan, trial: FrozenTrial) -> tuple[int, JobState]:
    """Return the number of seeds that are done, and the progress of the seed in training."""
    folder = trial_folder(plan.folder, trial.user_attrs.get(SLOT, -1))
    folders = [seed_folder(folder, seed) for seed in plan.sweep.seeds]
    begun = [each for each in folders if (each / PROGRESS).is_file()]
    state = read_state(begun[-1]) if begun else None
    return max(0, len(begun) - 1), state or JobState(doing="")
