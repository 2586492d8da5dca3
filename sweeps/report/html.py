"""The report of an evaluation: one page that opens from disk and needs no network."""

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Collection, Mapping
from functools import cache
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import vl_convert
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from lightning_modules.figures.charts import Chart, Spec, as_spec
from lightning_modules.figures.heat_map import BLUES, ORANGE
from lightning_modules.figures.ladder_chart import DataChart
from lightning_modules.figures.palette import looks_of
from lightning_modules.figures.system_looks import letter_colours
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.runs.job import without_authors
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.numbers import format_duration, format_number
from sweeps.comparison.table_files import as_csv
from sweeps.comparison.tables import Cell, Column, Kind, Table
from sweeps.report.chips import cautions_of, chips_of
from sweeps.report.findings import WEAK
from sweeps.report.page_top import PageTop
from sweeps.report.report import Report

MOST_ROWS = 100  # most rows of a table on the page, so that the page can be mailed; files have all


def render_page(
    template: str,
    figures: Mapping[str, Chart | DataChart | Spec],
    files: Mapping[str, str],
    data: Mapping[str, Any] = MappingProxyType({}),
    systems: Mapping[str, str] = MappingProxyType({}),
    **shown: Any,
) -> str:
    """Return a page as text; Vega is inlined once.

    ``files`` are CSV files that the page can save, by name; ``data`` is further data for its
    scripts, by the ids of elements; ``systems`` are the labels of its systems by name, which get
    their marks; ``shown`` are variables of the template.
    """
    specs = {name: _spec_of(chart) for name, chart in figures.items()}
    elements = {"figures": specs, "tables": files, **data}
    made = environment(systems).get_template(template)
    return made.render(vega=vega(), data=elements, **shown)


def _spec_of(chart: Chart | DataChart | Spec) -> Spec:
    if isinstance(chart, dict):
        return chart
    return chart.spec if isinstance(chart, DataChart) else as_spec(chart)


def environment(
    systems: Mapping[str, str] = MappingProxyType({}), weak: Collection[str] = ()
) -> Environment:
    """Return the environment of the templates, which escapes all words.

    ``systems`` are the labels of the systems by name, ``weak`` those of systems that have learned
    too little.
    """
    made = Environment(
        loader=PackageLoader("sweeps.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    marks = SystemMarks(systems, weak)
    made.filters |= {"breakable": breakable, "cells": page_cells}
    made.filters |= {"system": marks.label, "systems": marks.sentence}
    made.tests["system"] = marks.knows
    made.filters |= {
        "number": format_number,
        "duration": format_duration,
        "packed": packed,
        "short_ids": short_ids,
    }
    made.globals |= {"MOST_ROWS": MOST_ROWS, "SHADES": ", ".join(BLUES), "OUTLINE": ORANGE}
    return made


class SystemMarks:
    """The marks and colours that systems have in charts, for their names in the text of a page."""

    def __init__(self, labels: Mapping[str, str], weak: Collection[str] = ()) -> None:
        colours, looks, short = (
            letter_colours(labels),
            looks_of(labels),
            without_authors(labels.values()),
        )
        self._marked = {
            label: Markup('<span class="system" data-mark="{}" style="--hue: {}">{}</span>').format(
                looks[name].glyph, colours[label], breakable(short[label])
            )
            for name, label in labels.items()
        }
        self._weak = weak

    def knows(self, text: str) -> bool:
        """Return whether a text is the label of a system."""
        return text in self._marked

    def label(self, label: str) -> Markup:
        """Mark the label of a system, also if it has learned too little; any other text stays."""
        return self._marked.get(label, breakable(label)) + (WEAK if label in self._weak else "")

    def sentence(self, text: str) -> Markup:
        """Mark the systems of a sentence, whose labels it has in quotes."""
        escaped = escape(text)
        for label, marked in self._marked.items():
            escaped = escaped.replace(escape(f"“{label}”"), marked)
        return escaped


def breakable(name: str) -> Markup:
    """Let a long name such as ``model.heads=4`` break after its marks, not inside of a word."""
    return Markup(re.sub(r"([._=/])(?=\w)", r"\1<wbr>", str(escape(name))))


LONG_ID = re.compile(r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,}\b")
"""A commit, or the fingerprint of a text or of the code."""
SHOWN_OF_ID = 7  # characters, as git shows them


def short_ids(text: str) -> Markup:
    """Let a text have the beginnings of its long ids, which the pointer shows in full."""
    escaped = str(escape(text))
    return Markup(LONG_ID.sub(_short_id, escaped))


def _short_id(found: re.Match[str]) -> str:
    return f'<abbr title="{found[0]}">{found[0][:SHOWN_OF_ID]}</abbr>'


def packed(content: Any) -> str:
    """Return data for the script of a page, compressed, in letters that no markup has.

    The browser unpacks them in milliseconds, and the page is half as large.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), 9)).decode()


BUILDING = Lock()


def vega() -> str:
    """Return the drawing library, packed; building the script takes a second."""
    with BUILDING:  # a thread may be at it, while the figures are made
        return _vega()


@cache
def _vega() -> str:
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return packed(script)


class PageCell(NamedTuple):
    """A cell with its shown text and its value for sorting."""

    kind: Kind
    shown: str
    value: int | float | str  # value to sort by; empty for a missing value
    leads: bool  # whether it is the best of its column


def page_cells(table: Table) -> list[list[PageCell]]:
    """Return the rows that the page shows of a table, ready to be sorted."""
    leading = table.best
    return [
        [
            _page_cell(column, cell, number in best)
            for column, cell, best in zip(table.columns, row, leading, strict=True)
        ]
        for number, row in enumerate(table.rows[:MOST_ROWS])
    ]


def _page_cell(column: Column, cell: Cell, leads: bool) -> PageCell:
    shown = column.shown(cell)
    if isinstance(cell, Estimate):  # its interval beneath, broken before its deviation alone
        shown = shown.replace(", ", ",\u00a0").replace("± ", "±\u00a0").replace(" [", "\n[")
    value = cell.value if isinstance(cell, Estimate) else cell
    return PageCell(column.kind, shown, "" if value is None else value, leads)


class PageSection(NamedTuple):
    """A section of the page that is not empty."""

    name: str
    heading: str
    content: Markup

    @property
    def link(self) -> tuple[str, str]:
        """The id of the section and its heading."""
        return f"section-{self.name}", self.heading


def marked_alike(evaluation: Evaluation) -> dict[str, str]:
    """Return the labels of the systems by name; none where charts of test sets mark them unlike."""
    labels = {system.name: system.label for system in evaluation.systems}
    looks = looks_of(labels)
    parts = (looks_of(system.name for system in part.systems) for part in evaluation.parts)
    alike = all(looks[name] == look for part in parts for name, look in part.items())
    return labels if alike else {}


def render_report(report: Report) -> str:
    """Return the page as text. Raises ``UserError`` for a section of the user that fails."""
    labels = marked_alike(report.findings.evaluation)
    weak = [system.label for system in report.findings.marked_weak]
    templates = environment(labels, weak)
    files = {name: as_csv(table) for name, table in report.tables.items()}
    sections: list[PageSection] = []
    data: dict[str, Any] = {}
    for part in report.parts:
        with part.errors_in_one_line():
            template = templates.from_string(part.section.template)
            content = template.render(
                section=part.section, tables=part.tables, figures=list(part.page_figures)
            )
            if content.strip():
                sections.append(PageSection(part.name, part.section.heading, Markup(content)))
            files |= part.section.page_texts()
            data |= part.section.page_data()
    top, names = PageTop(report.findings), [section.name for section in sections]
    return render_page(
        "report.html.j2",
        figures=report.page_specs,
        files=files,
        data=data,
        systems=labels,
        findings=report.findings,
        top=top,
        cautions=list(cautions_of(top, names)),
        chips=chips_of(top, names),
        sections=sections,
    )
