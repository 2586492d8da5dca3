"""A table of the trials of a running study in the terminal, kept up to date."""

from collections.abc import Sequence
from pathlib import Path

from optuna.exceptions import StorageInternalError
from optuna.trial import FrozenTrial, TrialState
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from lightning_modules.runs.files import read_state
from lightning_modules.runs.paths import PROGRESS
from lightning_modules.runs.schema import JobState
from sweeps.comparison.numbers import NOTHING
from sweeps.launch.live import clock
from sweeps.studies.draws import SLOT
from sweeps.studies.plan import StudyPlan, open_studies, order_of, seed_folder, trial_folder
from sweeps.studies.settings import shown_value

ENDED = 10  # number of ended trials in the table of a study
STATES = {
    TrialState.COMPLETE: Text("done", "green"),
    TrialState.PRUNED: Text("pruned", "dim"),
    TrialState.FAIL: Text("failed", "bold red"),
}


class StudyView:
    """What a terminal shows of studies while their trials run; call it to draw it."""

    def __init__(self, plans: Sequence[StudyPlan], out: Path) -> None:
        self._plans, self._drawn = plans, Group()
        self._studies = open_studies(plans, out)

    def __call__(self) -> RenderableType:
        """Return the tables of all studies; the earlier ones if the storage does not answer."""
        try:
            pairs = zip(self._plans, self._studies, strict=True)
            self._drawn = Group(*(study_table(plan, one.get_trials()) for plan, one in pairs))
        except (StorageInternalError, SQLAlchemyError):
            pass
        return self._drawn


def study_table(plan: StudyPlan, trials: Sequence[FrozenTrial]) -> RenderableType:
    """Return a table: all running trials, then the ended ones, the best first, ``ENDED`` at most.

    A study without a running trial is one line.
    """
    sweep = plan.sweep
    upwards = sweep.directions[0] == "maximize"
    trials = [trial for trial in trials if SLOT in trial.user_attrs]
    done = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    done.sort(key=lambda trial: order_of(trial, upwards))
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
    sweep, slot = plan.sweep, trial.user_attrs[SLOT]
    params = trial.params
    chosen = [shown_value(params[name]) if name in params else NOTHING for name in sweep.space]
    if trial.state != TrialState.RUNNING:
        values = [*map(shown_value, trial.values or ())]
        values += [NOTHING] * (len(sweep.objectives) - len(values))
        return [str(slot), STATES[trial.state], NOTHING, NOTHING, *values, *chosen]
    before, state = _progress(plan, trial)
    doing = state.doing or "starting"
    if len(sweep.seeds) > 1:
        doing = f"{doing}, seed {before + 1} of {len(sweep.seeds)}"
    share = (before + state.share) / len(sweep.seeds)
    left = NOTHING if state.seconds_left is None else clock(state.seconds_left)
    bleu = NOTHING if state.val_bleu is None else f"{state.val_bleu:.2f}"
    values = [bleu if objective == "bleu" else NOTHING for objective in sweep.objectives]
    return [str(slot), Text(doing, "cyan"), f"{share:.0%}", left, *values, *chosen]


def _progress(plan: StudyPlan, trial: FrozenTrial) -> tuple[int, JobState]:
    """Return the number of seeds that are done, and the progress of the seed in training."""
    folder = trial_folder(plan.folder, trial.user_attrs[SLOT])
    folders = [seed_folder(folder, seed) for seed in plan.sweep.seeds]
    begun = [each for each in folders if (each / PROGRESS).is_file()]
    state = read_state(begun[-1]) if begun else None
    return max(0, len(begun) - 1), state or JobState(doing="")
