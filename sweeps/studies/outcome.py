"""What a study found: its trials as a table, its best, and what it cost."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import optuna
from optuna.trial import FrozenTrial, TrialState

from lightning_modules.budgets import Kind
from sweeps.evaluation.tables import Cell, Column, Table
from sweeps.studies.best import Best
from sweeps.studies.performance import DECIMALS, TITLES, Search
from sweeps.studies.places import COST, REASON, SLOT
from sweeps.studies.settings import Sweep
from sweeps.studies.space import Choices, Floats, Integers, written

TRIALS = "trials"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A study that has ended, for the time being."""

    sweep: Sweep
    study: optuna.Study
    folder: Path
    best: Sequence[Best]
    """Empty if no trial finished; of several objectives, those of the Pareto front."""
    kind: Kind
    """Of the budget of its trials."""

    @cached_property
    def trials(self) -> list[FrozenTrial]:
        """In the order in which they were made."""
        return self.study.get_trials(deepcopy=False)

    @cached_property
    def finished(self) -> list[FrozenTrial]:
        """Those that have values."""
        return [trial for trial in self.trials if trial.state == TrialState.COMPLETE]

    @property
    def failed(self) -> list[tuple[int | None, str]]:
        """Slots of trials that came to nothing, with reasons; not those that others took up."""
        last = {trial.user_attrs.get(SLOT): trial for trial in self.trials}
        failed = [trial for trial in last.values() if trial.state == TrialState.FAIL]
        return [(trial.user_attrs.get(SLOT), _reason(trial) or "") for trial in failed]

    @property
    def counts(self) -> dict[str, int]:
        """Of trials by their states."""
        return Counter(trial.state.name.lower() for trial in self.trials)

    def spent(self, kind: Kind) -> float:
        """By all trials, whatever their end; one that was taken up again counts on."""
        spent: dict[int, float] = {}
        for trial in self.trials:
            slot = trial.user_attrs.get(SLOT, -1)
            spent[slot] = max(spent.get(slot, 0), trial.user_attrs.get(COST, {}).get(kind, 0))
        return sum(spent.values())

    @property
    def target_tokens(self) -> int:
        """That all trials were trained on."""
        return round(self.spent("target_tokens"))

    @property
    def seconds(self) -> float:
        """Of all trials, one after the other."""
        return sum(_seconds(trial) or 0.0 for trial in self.trials)

    @property
    def search(self) -> Search:
        """What the first objective came to, and the tokens that a finished trial has cost."""
        values = [trial.values[0] for trial in self.finished]
        return Search(values, self.target_tokens / max(1, len(values)))

    @property
    def top(self) -> float | None:
        """The best value of the first objective."""
        best = max if self.sweep.directions[0] == "maximize" else min
        return best(self.search.values, default=None)

    @property
    def origin(self) -> dict[str, str | int]:
        """What every number depends on."""
        return {
            "study": self.sweep.name,
            "sampler": f"{self.sweep.sampler} (seed {self.sweep.sampler_seed})",
            "pruner": self.sweep.pruner,
            "seeds": ", ".join(map(str, self.sweep.seeds)),
            "trials": len(self.trials),
        }

    @property
    def trials_table(self) -> Table:
        """A row for each trial."""
        space = self.sweep.space
        columns = [
            Column("slot", "trial", "count"),
            Column("number", "number", "count"),
            Column("state", "state"),
            *(_objective_column(name) for name in self.sweep.objectives),
            *(self._parameter_column(name) for name in space),
            Column("target_tokens", "target tokens", "count"),
            Column("trial_seconds", "seconds", "number"),
            Column("reason", "reason"),
        ]
        return Table(
            TRIALS,
            "Trials",
            columns,
            [self._row(trial) for trial in self.trials],
            self.origin,
            "The number is that of Optuna's figures; it differs where a trial was taken up again. "
            "Values are means over the seeds; seconds are from the start to the end.",
        )

    def _row(self, trial: FrozenTrial) -> list[Cell]:
        done = trial.state == TrialState.COMPLETE
        chosen = [_parameter_cell(self.sweep.space[name], trial, name) for name in self.sweep.space]
        return [
            trial.user_attrs.get(SLOT),
            trial.number,
            trial.state.name.lower(),
            *(trial.values if done else [None] * len(self.sweep.objectives)),
            *chosen,
            trial.user_attrs.get(COST, {}).get("target_tokens"),
            _seconds(trial),
            _reason(trial),
        ]

    def _parameter_column(self, name: str) -> Column:
        parameter = self.sweep.space[name]
        if isinstance(parameter, Choices):
            return Column(name, name)
        if isinstance(parameter, Integers):
            return Column(name, name, "count")
        values = [trial.params[name] for trial in self.trials if trial.params.get(name)]
        smallest = min(map(abs, values), default=1.0)
        # Three digits of the smallest, so that rates of learning can be told apart.
        return Column(name, name, "number", max(1, 2 - math.floor(math.log10(smallest))))


def _reason(trial: FrozenTrial) -> str | None:
    """Why a trial has no values; None where that goes without saying."""
    lost = "its worker died" if trial.state == TrialState.FAIL else None
    told: str | None = trial.user_attrs.get(REASON, lost)
    return told


def _objective_column(name: str) -> Column:
    return Column(name, TITLES[name], "number", DECIMALS[name])


def _parameter_cell(parameter: Floats | Integers | Choices, trial: FrozenTrial, name: str) -> Cell:
    if name not in trial.params:
        return None
    value = trial.params[name]
    return written(value) if isinstance(parameter, Choices) else value


def _seconds(trial: FrozenTrial) -> float | None:
    return trial.duration.total_seconds() if trial.duration else None
