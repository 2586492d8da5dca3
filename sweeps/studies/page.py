"""The outcome of a study as files and as one page that opens from disk."""

from pathlib import Path

from datamodules.files import write_text
from lightning_modules.charts import as_spec, save_chart
from sweeps.evaluation.tables import as_csv, write_tables
from sweeps.page import render_page
from sweeps.studies.outcome import Outcome
from sweeps.studies.plots import write_pictures
from sweeps.studies.section import StudySection, study_section
from sweeps.studies.space import Choices, Floats, Integers, written
from sweeps.studies.study import IDENTITY

REPORT, TABLES, FIGURES = "report.html", "tables", "figures"


def write_outcome(outcome: Outcome) -> Path:
    """Write ``tables/``, ``figures/`` and ``report.html`` into the study's folder; return the page.

    Each file is written whole or not at all.
    """
    folder, section = outcome.folder, study_section([outcome])
    write_tables([outcome.trials_table, section.tables["search_performance"]], folder / TABLES)
    for name, chart in section.curves(620).items():
        save_chart(chart, folder / FIGURES / name)
    write_pictures(section.pictures[outcome.sweep.name], folder / FIGURES)
    write_text(folder / REPORT, render_outcome(outcome, section))
    return folder / REPORT


def render_outcome(outcome: Outcome, section: StudySection) -> str:
    """The page as text."""
    tables = {"trials": outcome.trials_table, **section.tables}
    return render_page(
        "study.html.j2",
        outcome=outcome,
        section=section,
        trials=tables["trials"],
        method=method(outcome),
        figures={name: as_spec(chart) for name, chart in section.curves("container").items()},
        files={name: as_csv(table) for name, table in tables.items()},
    )


def method(outcome: Outcome) -> list[tuple[str, list[str]]]:
    """How the settings were found: (aspect, lines)."""
    sweep = outcome.sweep
    goals = zip(sweep.directions, sweep.objectives, strict=True)
    return [
        ("Space", [f"{name}: {_range(parameter)}" for name, parameter in sweep.space.items()]),
        (
            "Objectives",
            [f"{direction} {objective}" for direction, objective in goals],
        ),
        ("Sampler", [f"{sweep.sampler}, seed {sweep.sampler_seed} and on, one for each worker"]),
        ("Pruner", [f"{sweep.pruner}, after {sweep.warmup_trials} trials"]),
        ("Tried first", [str(settings) for settings in sweep.known] or ["nothing"]),
        ("Seeds", [", ".join(map(str, sweep.seeds)) + "; a trial is scored by their mean"]),
        ("Cost", [f"{len(outcome.trials)} trials, {outcome.target_tokens:,} target tokens"]),
        ("Base overrides", outcome.study.user_attrs[IDENTITY]["list of overrides"] or ["none"]),
    ]


def _range(parameter: Floats | Integers | Choices) -> str:
    if isinstance(parameter, Choices):
        told = "one of " + ", ".join(map(written, parameter.choices))
    else:
        told = f"{parameter.type} from {parameter.low:g} to {parameter.high:g}"
        told += ", by its logarithm" if parameter.log else ""
        told += f", in steps of {parameter.step:g}" if parameter.step not in (None, 1) else ""
    if parameter.when:
        conditions = [f"{name} is {_any_of(wanted)}" for name, wanted in parameter.when.items()]
        told += f", where {' and '.join(conditions)}"
    return told


def _any_of(wanted: object) -> str:
    return " or ".join(map(written, wanted if isinstance(wanted, list) else [wanted]))
