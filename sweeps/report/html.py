"""The report of an evaluation: one page that opens from disk and needs no network."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader

from lightning_modules.figures.charts import as_spec
from lightning_modules.metrics.statistics import METRICS
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from lightning_modules.runs.schema import Result
from lightning_modules.training.control.budgets import UNITS, kind_of
from sweeps.evaluation.tables import Cell, Column, Kind, Table, as_csv
from sweeps.report.contents import Findings
from sweeps.report.sentence_cards import limit_heads, sentence_cards
from sweeps.report.significance_matrix import SYMBOLS, Matrix, significance_matrices
from sweeps.report.study_section import StudySection


def render_page(template: str, **shown: Any) -> str:
    """Return a page as text; Vega is inlined once."""
    return environment().get_template(template).render(vega=_vega(), **shown)


def environment() -> Environment:
    """Return the environment of the templates, which escapes all words."""
    made = Environment(
        loader=PackageLoader("sweeps.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"cells": page_cells}
    return made


@cache
def _vega() -> str:
    """Return the drawing library as one script; building the script takes a second."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


@dataclass(frozen=True)
class PageCell:
    """A cell with its shown text and its value for sorting."""

    kind: Kind
    shown: str
    value: int | float | str
    """Value to sort by; empty for a missing value."""


def page_cells(table: Table) -> list[list[PageCell]]:
    """Return the rows of a table, ready to be sorted."""
    return [
        [_page_cell(column, cell) for column, cell in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]


def _page_cell(column: Column, cell: Cell) -> PageCell:
    shown = column.shown(cell)
    if isinstance(cell, Estimate):  # broken after its value and its interval alone
        shown = shown.replace(", ", ",\u00a0").replace("± ", "±\u00a0")
    value = cell.value if isinstance(cell, Estimate) else cell
    return PageCell(column.kind, shown, "" if value is None else value)


NAMED_TABLES = (
    *("scores", "attention_scores", "bleu_by_length", "bleu_trend", "bleu_significance"),
    *("speed", "learning", "studies", "search_performance"),
)
"""Tables with a fixed place on the page; all other tables are folded."""
EVERY_SEED = "every_seed"
STUDY_FIGURES = ("importances", "parallel_coordinates")
"""Figures of each study on the page of a comparison."""


def render_report(findings: Findings) -> str:
    """Return the page as text."""
    figures = {name: as_spec(chart) for name, chart in findings.figures("container").items()}
    if findings.studies:
        figures |= study_specs(findings.studies, STUDY_FIGURES)
    cards = [card for group in findings.evaluation.groups for card in sentence_cards(group)]
    maps = [each.heat_map for card in cards for each in card.translations if each.heat_map]
    files = {name: as_csv(table) for name, table in findings.tables.items()}
    files[EVERY_SEED] = findings.every_seed
    return render_page(
        "report.html.j2",
        findings=findings,
        comparison=findings.comparison,
        figures=figures,
        study_figures=STUDY_FIGURES,
        sections=sections(findings.tables, list(figures)),
        files=files,
        matrices=_matrices(findings),
        symbols=SYMBOLS,
        cards=cards,
        maps_without_heads=limit_heads(maps),
        attentions=[asdict(card) for card in cards],
        method=method(findings),
    )


def study_specs(section: StudySection, names: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the drawn figures of each study as Vega-Lite, all or those of ``names``.

    The keys are those of ``studies.html.j2``, such as ``a-study-history``.
    """
    return {
        f"{study}-{figure.name}": as_spec(figure.chart)
        for study, figures in section.figures.items()
        for figure in figures
        if figure.chart is not None and (not names or figure.name in names)
    }


def _matrices(findings: Findings) -> list[Matrix]:
    table = findings.tables.get("bleu_significance")
    systems = [system.name for system in findings.evaluation.systems]
    return significance_matrices(table, systems) if table else []


def sections(
    tables: Mapping[str, Table], figures: Sequence[str]
) -> list[tuple[str, list[tuple[str | None, Table | None]]]]:
    """Return headings with their (figure, table) pairs, in the order of the page."""
    curves = [f"{name}_by_length" for name in METRICS if name != "bleu"]
    rest = [name for name in tables if name not in NAMED_TABLES and name not in curves]
    tests = [name for name in rest if name.endswith("_significance")]
    named = [
        ("Other scores against length", curves),
        ("Differences in other scores", tests),
        ("Words, n-grams and sentences", [name for name in rest if name not in tests]),
    ]
    return [
        (heading, [(name if name in figures else None, tables.get(name)) for name in present])
        for heading, names in named
        if (present := [name for name in names if name in tables or name in figures])
    ]


def method(findings: Findings) -> list[tuple[str, list[str]]]:
    """Return how the numbers were made: (aspect, the runs' different values of this aspect)."""
    aspects: dict[str, Callable[[Result], str]] = {
        "Corpus": _corpus,
        "Left out": _left_out,
        "Training": _training,
        "Decoding": lambda result: _listed(result.decoding, "not recorded"),
        "Environment": lambda result: _listed(result.environment.model_dump(), "not recorded"),
        "Code": lambda result: f"commit {result.git_commit or 'not recorded'}",
    }
    results = [run.result for run in findings.comparison.runs]
    lines = [(name, list(dict.fromkeys(map(say, results)))) for name, say in aspects.items()]
    return [("Scores", [_scoring(findings)]), *(each for each in lines if each[1])]


def _scoring(findings: Findings) -> str:
    scoring = findings.evaluation.scoring
    signature = findings.tables["bleu_by_length"].origin["signature"]
    draws = findings.evaluation.draws
    return (
        "sacreBLEU on detokenised text, computed afresh over the sentences of each length bucket; "
        f"{scoring.length_axis}; intervals and tests with {draws.count} resamples from "
        f"seed {draws.seed}; signature {signature}"
    )


def _corpus(result: Result) -> str:
    data = result.data
    pairs = ", ".join(f"{count:,} {split}" for split, count in data.pairs.items())
    fingerprint = data.fingerprint or "not recorded"
    return f"{data.name}, {data.source} → {data.target}; pairs: {pairs}; fingerprint {fingerprint}"


def _left_out(result: Result) -> str:
    reasons = [
        f"{count:,} {split} pairs {reason}"
        for split, counts in result.data.left_out.items()
        for reason, count in counts.items()
    ]
    return "; ".join(reasons) or "nothing"


def _training(result: Result) -> str:
    training = result.training
    if training.target_tokens is None:
        return "not recorded"
    kind = kind_of(result.config)
    updates = "" if training.updates is None else f", {training.updates:,} updates"
    return f"a budget in {UNITS[kind]}: {training.target_tokens:,} target tokens{updates}"


def _listed(settings: dict[str, Any], otherwise: str) -> str:
    """Return settings as one line; timings are left out, because timings are no settings."""
    shown = {
        key: value
        for key, value in settings.items()
        if value is not None and key not in ("seconds", "sentences_per_second")
    }
    return (
        ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in shown.items()) or otherwise
    )
