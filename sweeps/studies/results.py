"""Outcome of a study: trials as a table, best settings as a file, and costs."""

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from omegaconf import OmegaConf
from optuna.trial import FrozenTrial, TrialState

from datamodules.files import write_text
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.settings.table import RESULTS, effect_of, is_read_by
from sweeps.comparison.conditions import StudyCost
from sweeps.evaluation.tables import Cell, Column, Table
from sweeps.launch.compose import composed, training_config
from sweeps.launch.errors import CONF
from sweeps.studies.figures import DECIMALS, TITLES, Search
from sweeps.studies.settings import (
    Choices,
    Floats,
    Integers,
    Sweep,
    as_overrides,
    hydra_value,
    shown_value,
)
from sweeps.studies.slots import COST, REASON, SLOT

GROUP = "experiment"


class Best(NamedTuple):
    """The best trial, or one trial of the Pareto front."""

    slot: int
    scores: str
    settings: dict[str, Any]
    command: str
    """Command that trains with the best settings again."""

    @property
    def line(self) -> str:
        """The line that the terminal prints."""
        return f"best: trial {self.slot}, {self.scores}; {self.command}"


def write_best(trial: FrozenTrial, sweep: Sweep, overrides: Sequence[str], folder: Path) -> Best:
    """Write the configuration of a trial as a file for Hydra.

    Each trial of a Pareto front has a separate file.
    """
    slot = trial.user_attrs[SLOT]
    name = sweep.name if len(sweep.objectives) == 1 else f"{sweep.name}-{slot}"
    scores = ", ".join(
        f"{objective} {shown_value(value)}"
        for objective, value in zip(sweep.objectives, trial.values, strict=True)
    )
    header = (
        f"# @package _global_\n# Trial {slot} of the study {sweep.name}: {scores} in validation.\n"
    )
    text = as_experiment([*overrides, *as_overrides(trial.params)])
    write_text(folder / GROUP / f"{name}.yaml", header + text)
    words = ["--config-dir", str(folder), f"+{GROUP}={name}", f"seed={sweep.seeds[0]}"]
    return Best(slot, scores, trial.params, f"python run.py {shlex.join(words)}")


def as_experiment(overrides: Sequence[str]) -> str:
    """Return the whole configuration as one file: its groups, then every value.

    Values from the file of a study or comparison, such as the number of threads, are kept.
    """
    config = composed(overrides)
    choices = config.hydra.runtime.choices
    groups = [
        {f"override /{group}": choice}
        for group, choice in choices.items()
        if choice and (CONF / group).is_dir() and _is_best(group)
    ]
    settings = training_config(config)
    kept = OmegaConf.masked_copy(settings, [key for key in map(str, settings) if _is_best(key)])
    values: Any = redacted(OmegaConf.to_container(kept, resolve=False))
    return OmegaConf.to_yaml(OmegaConf.create({"defaults": [*groups, "_self_"], **values}))


def _is_best(key: str) -> bool:
    """Return whether a key belongs to the best settings, and not to the machine or the study."""
    name = key.replace("/", ".")
    return key != "seed" and effect_of(name) in RESULTS and is_read_by(name, "train")


TRIALS = "trials"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a study so far."""

    sweep: Sweep
    study: optuna.Study
    folder: Path
    best: Sequence[Best]
    """Best trials: none if no trial finished; the Pareto front for several objectives."""
    kind: str
    """Kind of budget of the trials."""

    @cached_property
    def trials(self) -> list[FrozenTrial]:
        """All trials, oldest first."""
        return self.study.get_trials(deepcopy=False)

    @cached_property
    def finished(self) -> list[FrozenTrial]:
        """Trials that have values."""
        return [trial for trial in self.trials if trial.state == TrialState.COMPLETE]

    @property
    def failed(self) -> list[tuple[int | None, str]]:
        """Slots whose last trial failed, with reasons."""
        last = {trial.user_attrs.get(SLOT): trial for trial in self.trials}
        failed = [trial for trial in last.values() if trial.state == TrialState.FAIL]
        return [(trial.user_attrs.get(SLOT), _reason(trial) or "") for trial in failed]

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials by state."""
        return Counter(trial.state.name.lower() for trial in self.trials)

    def spent(self, kind: str) -> float:
        """Return the cost of all trials; a requeued trial includes the cost of the lost trial."""
        spent: dict[int, float] = {}
        for trial in self.trials:
            slot = trial.user_attrs.get(SLOT, -1)
            spent[slot] = max(spent.get(slot, 0), trial.user_attrs.get(COST, {}).get(kind, 0))
        return sum(spent.values())

    @property
    def target_tokens(self) -> int:
        """Number of target tokens that all trials were trained on."""
        return round(self.spent("target_tokens"))

    @property
    def seconds(self) -> float:
        """Seconds of all trials, added up."""
        return sum(_seconds(trial) or 0.0 for trial in self.trials)

    @property
    def search(self) -> Search:
        """Values of the first objective, and the target tokens per finished trial."""
        values = [trial.values[0] for trial in self.finished]
        return Search(values, self.target_tokens / max(1, len(values)))

    @property
    def top(self) -> float | None:
        """The best value of the first objective."""
        best = max if self.sweep.directions[0] == "maximize" else min
        return best(self.search.values, default=None)

    @property
    def cost(self) -> StudyCost:
        """What the study has cost, in the unit of its trials' budget."""
        return StudyCost(self.sweep.name, len(self.trials), round(self.spent(self.kind)))

    @property
    def origin(self) -> dict[str, str | int]:
        """Settings of the study, for the source note of a table."""
        return {
            "study": self.sweep.name,
            "sampler": f"{self.sweep.sampler_label} (seed {self.sweep.sampler_seed})",
            "pruner": self.sweep.pruner_label,
            "seeds": ", ".join(map(str, self.sweep.seeds)),
            "trials": len(self.trials),
        }

    @property
    def trials_table(self) -> Table:
        """Table with a row for each trial."""
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
            "Figures show the number; it differs from the trial where a dead worker was replaced. "
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
        # Three digits of the smallest value, so that learning rates differ in the table.
        return Column(name, name, "number", max(1, 2 - math.floor(math.log10(smallest))))


def _reason(trial: FrozenTrial) -> str | None:
    """Return why a trial has no values; None for a trial that did not fail."""
    lost = "its worker died" if trial.state == TrialState.FAIL else None
    why: str | None = trial.user_attrs.get(REASON, lost)
    return why


def _objective_column(name: str) -> Column:
    return Column(name, TITLES[name], "number", DECIMALS[name])


def _parameter_cell(parameter: Floats | Integers | Choices, trial: FrozenTrial, name: str) -> Cell:
    if name not in trial.params:
        return None
    value = trial.params[name]
    return hydra_value(value) if isinstance(parameter, Choices) else value


def _seconds(trial: FrozenTrial) -> float | None:
    return trial.duration.total_seconds() if trial.duration else None
