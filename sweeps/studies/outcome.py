"""Outcome of a study: trials as a table, best settings as a file, and costs."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from omegaconf import OmegaConf
from optuna.trial import FrozenTrial, TrialState

from datamodules.files import write_text
from lightning_modules.figures.picture_files import (
    CAPTION,
    ENDINGS,
    FLOAT,
    FigureWidths,
    save_chart,
    save_figures,
)
from lightning_modules.runs.job import command
from lightning_modules.runs.paths import CONF, FIGURES, REPORT, STUDIES, TABLES
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.settings import RESULTS, effect_of, is_read_by
from lightning_modules.training.budgets import find_kind
from sweeps.comparison.conditions import StudyCost
from sweeps.comparison.numbers import format_number
from sweeps.comparison.table_files import as_csv, write_tables
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.launch.compose import composed, training_config
from sweeps.report.findings import StudySection
from sweeps.report.html import render_page
from sweeps.studies.draws import SLOT
from sweeps.studies.figures import (
    DECIMALS,
    TITLES,
    performance_curves,
    performance_table,
    search_performance,
    study_figures,
)
from sweeps.studies.plan import COST, IDENTITY, REASON, StudyPlan, is_lost, open_studies, order_of
from sweeps.studies.settings import (
    Choices,
    Floats,
    Integers,
    Sweep,
    as_overrides,
    hydra_value,
    shown_value,
)

GROUP = "experiment"
RENUMBERED = "Figures show the number; it differs from the trial where a dead worker was replaced. "


class Best(NamedTuple):
    """The best trial, or one trial of the Pareto front."""

    slot: int
    scores: str
    settings: dict[str, Any]
    command: str  # command that trains with the best settings again


def write_best(trial: FrozenTrial, sweep: Sweep, overrides: Sequence[str], folder: Path) -> Best:
    """Write the configuration of a trial as a file for Hydra.

    Each trial of a Pareto front has a separate file.
    """
    slot = trial.user_attrs[SLOT]
    name = sweep.name if len(sweep.objectives) == 1 else f"{sweep.name}-{slot}"
    scores = ", ".join(
        f"{TITLES[objective]} {format_number(value, DECIMALS[objective])}"
        for objective, value in zip(sweep.objectives, trial.values, strict=True)
    )
    header = f"# Trial {slot} of the study {sweep.name}: {scores}.\n"
    text = as_experiment([*overrides, *as_overrides(trial.params)])
    write_text(folder / GROUP / f"{name}.yaml", f"# @package _global_\n{header}{text}")
    words = ["--config-dir", str(folder), f"+{GROUP}={name}", f"seed={sweep.seeds[0]}"]
    return Best(slot, scores, trial.params, command(*words))


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
    # A setting of the training, and not of the machine or of the study.
    name = key.replace("/", ".")
    return key != "seed" and effect_of(name) in RESULTS and is_read_by(name, "train")


@dataclass(frozen=True, eq=False)
class StudyOutcome:
    """The outcome of a study so far."""

    sweep: Sweep
    study: optuna.Study
    folder: Path
    best: Sequence[Best]
    """Best trials: none if no trial finished; the Pareto front for several objectives."""
    kind: str  # kind of budget of the trials

    @cached_property
    def trials(self) -> list[FrozenTrial]:
        """All trials of the queue, oldest first."""
        trials = self.study.get_trials(deepcopy=False)
        return [trial for trial in trials if SLOT in trial.user_attrs]

    @cached_property
    def finished(self) -> list[FrozenTrial]:
        """Trials that have values."""
        return [trial for trial in self.trials if trial.state == TrialState.COMPLETE]

    @property
    def failed(self) -> list[tuple[int, str]]:
        """Slots whose last trial failed, with reasons."""
        last = {trial.user_attrs[SLOT]: trial for trial in self.trials}
        failed = [trial for trial in last.values() if trial.state == TrialState.FAIL]
        return [(trial.user_attrs[SLOT], _reason(trial) or "") for trial in failed]

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials by state."""
        return Counter(trial.state.name.lower() for trial in self.trials)

    def spent(self, kind: str) -> float:
        """Return the cost of all trials; a requeued trial includes the cost of the lost trial."""
        spent: dict[int, float] = {}
        for trial in self.trials:
            slot = trial.user_attrs[SLOT]
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
    def upwards(self) -> bool:
        """Whether high values of the first objective are good."""
        return self.sweep.directions[0] == "maximize"

    @property
    def values(self) -> list[float]:
        """Values of the first objective of the finished trials."""
        return [trial.values[0] for trial in self.finished]

    @property
    def doubt(self) -> str:
        """What speaks against the best trial, in a sentence; empty for nothing."""
        objectives = self.sweep.objectives
        if "bleu" in objectives and self.finished:
            place = objectives.index("bleu")
            if not any(trial.values[place] for trial in self.finished):
                return (
                    "validation BLEU is 0 in every trial, so that the validation loss alone told "
                    "them apart; train longer (budget.KIND=N) or give sweep.objectives=[loss], "
                    "either with another sweep.name"
                )
        tied = self.values.count((max if self.upwards else min)(self.values, default=0.0))
        if tied > 1 and len(objectives) == 1:
            taken = "oldest" if objectives == ["loss"] else "one of lowest loss"
            return f"{tied} trials have the best {objectives[0]}; the {taken} is taken"
        return ""

    @property
    def answer(self) -> str:
        """What the study has found, in a sentence."""
        count = len(self.finished)
        trials = f"{count} finished {'trial' if count == 1 else 'trials'}"
        if not self.best:
            return "No trial has finished."
        if len(self.sweep.objectives) > 1:
            none = " and ".join(TITLES[each] for each in self.sweep.objectives)
            front = "is" if len(self.best) == 1 else "are"
            return f"{len(self.best)} of {trials} {front} beaten by none in both {none}."
        [best] = self.best
        return f"Trial {best.slot} is the best of {trials}: {best.scores}."

    @property
    def cost(self) -> StudyCost:
        """What the study has cost, in the unit of its trials' budget.

        A trial counts once, however often it was interrupted, and not if it was given up.
        """
        ended = [each for each in self.trials if each.state.is_finished() and not is_lost(each)]
        slots = {trial.user_attrs[SLOT] for trial in ended}
        return StudyCost(self.sweep.name, len(slots), round(self.spent(self.kind)))

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
        space, renumbered = self.sweep.space, self._renumbered
        columns = [
            Column("slot", "trial", "count"),
            *([Column("number", "number", "count")] if renumbered else []),
            Column("state", "state"),
            *(Column(n, TITLES[n], "number", DECIMALS[n]) for n in self.sweep.objectives),
            *(self._parameter_column(name) for name in space),
            Column("target_tokens", "target tokens", "count"),
            Column("trial_seconds", "seconds", "number"),
            Column("reason", "reason"),
        ]
        return Table(
            "trials",
            "Trials",
            columns,
            [self._row(trial) for trial in self.trials],
            self.origin,
            f"{RENUMBERED if renumbered else ''}Values are means over the seeds; seconds are from "
            "the start to the end.",
        )

    @property
    def _renumbered(self) -> bool:
        return any(trial.user_attrs[SLOT] != trial.number for trial in self.trials)

    def _row(self, trial: FrozenTrial) -> list[Cell]:
        done = trial.state == TrialState.COMPLETE
        space = self.sweep.space
        chosen = [_parameter_cell(space[name], trial, name) for name in space]
        return [
            trial.user_attrs[SLOT],
            *([trial.number] if self._renumbered else []),
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


def find_outcomes(plans: Sequence[StudyPlan], out: Path, kind: str) -> list[StudyOutcome]:
    """Return the outcome so far of each study; ``kind`` is the kind of the trials' budget."""
    pairs = zip(plans, open_studies(plans, out), strict=True)
    return [_outcome(plan, study, kind) for plan, study in pairs]


def _outcome(plan: StudyPlan, study: optuna.Study, kind: str) -> StudyOutcome:
    sweep = plan.sweep
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(sweep.objectives) > 1:
        trials = study.best_trials
    else:
        upwards = sweep.directions[0] == "maximize"
        trials = sorted(trials, key=lambda trial: order_of(trial, upwards))[:1]
    best = [write_best(trial, sweep, plan.overrides, plan.folder) for trial in trials]
    return StudyOutcome(sweep, study, plan.folder, best, kind)


def _reason(trial: FrozenTrial) -> str | None:
    """Return why a trial has no values; None for a trial that did not fail."""
    lost = "its worker died" if trial.state == TrialState.FAIL else None
    why: str | None = trial.user_attrs.get(REASON, lost)
    return why


def _parameter_cell(parameter: Floats | Integers | Choices, trial: FrozenTrial, name: str) -> Cell:
    if name not in trial.params:
        return None
    value = trial.params[name]
    return hydra_value(value) if isinstance(parameter, Choices) else value


def _seconds(trial: FrozenTrial) -> float | None:
    return trial.duration.total_seconds() if trial.duration else None


def study_section(outcomes: Sequence[StudyOutcome]) -> StudySection:
    """Return tables and figures of studies that have the same first objective."""
    first = outcomes[0].sweep
    objective = first.objectives[0]
    points = [
        point
        for each in outcomes
        for point in search_performance(
            each.sweep.name,
            each.values,
            each.target_tokens / max(1, len(each.values)),
            each.upwards,
        )
    ]
    return StudySection(
        costs=[outcome.cost for outcome in outcomes],
        kind=outcomes[0].kind,
        studies=_studies_table(outcomes),
        performance=performance_table(points, objective),
        curves=partial(performance_curves, points, objective),
        figures={
            outcome.sweep.name: study_figures(outcome.study, outcome.sweep.objectives)
            for outcome in outcomes
        },
        parameters={outcome.sweep.name: list(outcome.sweep.space) for outcome in outcomes},
    )


def _studies_table(outcomes: Sequence[StudyOutcome]) -> Table:
    first, kind = outcomes[0].sweep.objectives[0], outcomes[0].kind
    columns = [
        Column("study", "study"),
        Column("trials", "trials", "count"),
        Column("complete", "finished", "count"),
        Column("pruned", "pruned", "count"),
        Column("fail", "failed", "count"),
        Column("spent", find_kind(kind).unit, "count"),
        Column("seconds", "seconds of trials", "number", 0),
        Column("best", f"best {TITLES[first]}", "number", DECIMALS[first]),
    ]
    rows = [
        [
            outcome.cost.study,
            outcome.cost.trials,
            *(outcome.counts.get(state, 0) for state in ("complete", "pruned", "fail")),
            outcome.cost.spent,
            outcome.seconds,
            (max if outcome.upwards else min)(outcome.values, default=None),
        ]
        for outcome in outcomes
    ]
    note = "Trials that a lost worker left behind count as failed, and again when taken up."
    return Table(STUDIES, "Studies", columns, rows, {"objective": first}, note)


def write_outcome(outcome: StudyOutcome, widths: FigureWidths) -> Path:
    """Write ``tables/``, ``figures/`` and ``report.html`` into the study's folder; return the page.

    Each file is written whole or not at all.
    """
    folder, section = outcome.folder, study_section([outcome])
    write_tables([outcome.trials_table, section.performance], folder / TABLES)
    write_text(folder / REPORT, render_outcome(outcome, section))
    save_figures(section.curves, widths, folder / FIGURES)
    for figure in section.figures[outcome.sweep.name]:
        stem = folder / FIGURES / figure.name
        if figure.chart is not None:
            save_chart(figure.chart, stem)
            continue
        for ending in (*ENDINGS, CAPTION, FLOAT):  # of an earlier outcome
            stem.with_name(f"{stem.name}.{ending}").unlink(missing_ok=True)
    return folder / REPORT


def render_outcome(outcome: StudyOutcome, section: StudySection) -> str:
    """Return the page as text."""
    tables = [outcome.trials_table, section.studies, section.performance]
    return render_page(
        "study.html.j2",
        outcome=outcome,
        section=section,
        trials=outcome.trials_table,
        method=method(outcome),
        shown=shown_value,
        figures=section.curves("container") | section.charts(),
        files={table.name: as_csv(table) for table in tables},
    )


def method(outcome: StudyOutcome) -> list[tuple[str, list[str]]]:
    """Return how the settings were chosen, as (aspect, lines)."""
    sweep = outcome.sweep
    goals = zip(sweep.directions, sweep.objectives, strict=True)
    return [
        ("Space", [f"{name}: {_range(parameter)}" for name, parameter in sweep.space.items()]),
        ("Objectives", [f"{direction} {objective}" for direction, objective in goals]),
        ("Sampler", [f"{sweep.sampler_label}, seed {sweep.sampler_seed} with the trial's number"]),
        ("Pruner", [f"{sweep.pruner_label}, after {sweep.warmup_trials} trials"]),
        ("Tried first", [str(settings) for settings in sweep.known] or ["nothing"]),
        ("Seeds", [", ".join(map(str, sweep.seeds)) + "; a trial is scored by their mean"]),
        ("Cost", [f"{len(outcome.trials)} trials, {outcome.target_tokens:,} target tokens"]),
        ("Base overrides", outcome.study.user_attrs[IDENTITY]["list of overrides"] or ["none"]),
    ]


def _range(parameter: Floats | Integers | Choices) -> str:
    if isinstance(parameter, Choices):
        text = "one of " + ", ".join(map(hydra_value, parameter.choices))
    else:
        text = f"{parameter.type} from {parameter.low:g} to {parameter.high:g}"
        text += ", by its logarithm" if parameter.log else ""
        text += f", in steps of {parameter.step:g}" if parameter.step not in (None, 1) else ""
    if parameter.when:
        conditions = [f"{name} is {_any_of(wanted)}" for name, wanted in parameter.when.items()]
        text += f", where {' and '.join(conditions)}"
    return text


def _any_of(wanted: object) -> str:
    return " or ".join(map(hydra_value, wanted if isinstance(wanted, list) else [wanted]))
