"""The outcome of studies as tables, figures and one page that opens from disk."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from datamodules.files import write_text
from lightning_modules.figures.charts import ENDINGS, save_chart
from lightning_modules.figures.sizes import PAPER
from lightning_modules.training.control.budgets import find_kind
from sweeps.evaluation.tables import Column, Table, as_csv
from sweeps.evaluation.writing.table_files import write_tables
from sweeps.report.html import render_page
from sweeps.report.study_section import StudySection
from sweeps.studies.figures import (
    DECIMALS,
    TITLES,
    performance_curves,
    performance_table,
    search_performance,
    study_figures,
)
from sweeps.studies.plan import IDENTITY
from sweeps.studies.results import Outcome
from sweeps.studies.settings import Choices, Floats, Integers, hydra_value, shown_value

STUDIES = "studies"


def study_section(outcomes: Sequence[Outcome]) -> StudySection:
    """Return tables and figures of studies that have the same first objective."""
    first = outcomes[0].sweep
    objective = first.objectives[0]
    searches = {outcome.sweep.name: outcome.search for outcome in outcomes}
    points = search_performance(searches, largest=first.directions[0] == "maximize")
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


def _studies_table(outcomes: Sequence[Outcome]) -> Table:
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
            outcome.top,
        ]
        for outcome in outcomes
    ]
    note = "Trials that a lost worker left behind count as failed, and again when taken up."
    return Table(STUDIES, "Studies", columns, rows, {"objective": first}, note)


REPORT, TABLES, FIGURES = "report.html", "tables", "figures"


def write_outcome(outcome: Outcome) -> Path:
    """Write ``tables/``, ``figures/`` and ``report.html`` into the study's folder; return the page.

    Each file is written whole or not at all.
    """
    folder, section = outcome.folder, study_section([outcome])
    write_tables([outcome.trials_table, section.performance], folder / TABLES)
    write_text(folder / REPORT, render_outcome(outcome, section))
    for end, width in PAPER.items():
        for name, chart in section.curves(width).items():
            save_chart(chart, folder / FIGURES / f"{name}{end}")
    for figure in section.figures[outcome.sweep.name]:
        stem = folder / FIGURES / figure.name
        if figure.chart is not None:
            save_chart(figure.chart, stem)
            continue
        for ending in ENDINGS:  # of an earlier outcome
            stem.with_name(f"{stem.name}.{ending}").unlink(missing_ok=True)
    return folder / REPORT


def render_outcome(outcome: Outcome, section: StudySection) -> str:
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


def method(outcome: Outcome) -> list[tuple[str, list[str]]]:
    """Return how the settings were chosen, as (aspect, lines)."""
    sweep = outcome.sweep
    goals = zip(sweep.directions, sweep.objectives, strict=True)
    return [
        ("Space", [f"{name}: {_range(parameter)}" for name, parameter in sweep.space.items()]),
        ("Objectives", [f"{direction} {objective}" for direction, objective in goals]),
        (
            "Sampler",
            [f"{sweep.sampler_label}, seed {sweep.sampler_seed} and on, one for each worker"],
        ),
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
