"""A report: its sections, found by the configuration, with their tables and figures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_args

from altair.utils.schemapi import debug_mode
from omegaconf import DictConfig
from pydantic import BaseModel

from datamodules.errors import UserError, validated
from datamodules.plugs import find_plug, in_own_file, make_plug
from lightning_modules.figures.charts import Chart, Spec, as_spec
from lightning_modules.figures.picture_files import NARROW, FigureWidths
from sweeps.comparison.tables import Table
from sweeps.report.findings import Findings
from sweeps.report.sections import Section

Named = TypeVar("Named")


class ReportSettings(BaseModel, extra="forbid"):
    """The group ``report`` of the configuration."""

    sections: dict[str, str]  # dotted paths of the sections, by any names, in the order of the page
    run_sections: dict[str, str]  # the same for the page of one run
    run_page: str | None  # dotted path of what writes the page of a run
    figure_widths: FigureWidths


@dataclass(frozen=True, eq=False)
class Part:
    """A section with its tables and figures, which are made once."""

    name: str  # the name of the section in `report.sections`
    setting: str  # override that names the section, such as `report.sections.mine=my_section.Mine`
    section: Section
    widths: FigureWidths

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables by their names."""
        with self.errors_in_one_line():
            tables = _check_kinds("tables", self.section.tables(), (Table,))
        return {table.name: table for table in tables}

    @cached_property
    def figures(self) -> dict[str, Chart]:
        """The figures by the names of their files, as wide as the text of a paper."""
        return self._checked(lambda: self.section.figures(self.widths.points[""]))

    @cached_property
    def files(self) -> dict[str, Chart]:
        """The figures by the names of their files, in both widths of a paper."""
        narrow = self._checked(lambda: self.section.figures(self.widths.points[NARROW]))
        return self.figures | {f"{name}{NARROW}": chart for name, chart in narrow.items()}

    @cached_property
    def page_figures(self) -> dict[str, Chart]:
        """The figures of the page, as wide as the page."""
        return self._checked(self.section.page_figures)

    @cached_property
    def page_specs(self) -> dict[str, Spec]:
        """The figures of the page as Vega-Lite describes them."""
        with self.errors_in_one_line():
            return {name: as_spec(chart) for name, chart in self.page_figures.items()}

    @property
    def _is_ours(self) -> bool:
        return type(self.section).__module__.startswith(f"{__package__}.sections.")

    def _checked(self, draw: Callable[[], Any]) -> dict[str, Chart]:
        # Altair's checks of every value take half of the time of our figures.
        with self.errors_in_one_line(), debug_mode(not self._is_ours):
            figures = draw()
            if not isinstance(figures, Mapping):
                raise UserError("figures() gives no mapping from names to charts")
            _check_kinds("figures", figures.values(), get_args(Chart))
            return dict(figures)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of text that go to W&B."""
        with self.errors_in_one_line():
            return _check_kinds("lines", self.section.lines, (str,))

    @contextmanager
    def errors_in_one_line(self) -> Iterator[None]:
        """Turn an error of a user's class into ``UserError`` that names class and override."""
        kind = type(self.section)
        try:
            yield
        except UserError as error:
            raise UserError(f"{self.setting}: {kind.__name__}: {error}") from None
        except Exception as error:  # a user's class may raise anything
            if self._is_ours:
                raise
            why = in_own_file(error) or " ".join(f"{type(error).__name__}: {error}".split())
            raise UserError(f"{self.setting}: {kind.__name__} fails: {why}") from error


@dataclass(frozen=True, eq=False)
class Report:
    """Findings and the sections that present them, in order."""

    findings: Findings
    parts: Sequence[Part]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of all sections, by name."""
        return _join((part.setting, part.tables) for part in self.parts)

    @cached_property
    def figures(self) -> dict[str, Chart]:
        """The figures of all sections in the width of the files, by name."""
        return _join((part.setting, part.figures) for part in self.parts)

    @cached_property
    def page_specs(self) -> dict[str, Spec]:
        """The figures of the page as Vega-Lite describes them, by name."""
        return _join((part.setting, part.page_specs) for part in self.parts)


def make_report(findings: Findings, settings: ReportSettings) -> Report:
    """Find the sections of a report, or of the page of one run, and give the findings to each.

    Raises ``UserError`` for a section that cannot be found or made.
    """
    parts = []
    group = "run_sections" if findings.alone else "sections"
    for name, path in getattr(settings, group).items():
        setting = f"report.{group}.{name}"
        section = make_plug(setting, path, find_plug(setting, path, {}, Section), findings)
        parts.append(Part(name, f"{setting}={path}", section, settings.figure_widths))
    return Report(findings, parts)


def check_sections(config: DictConfig) -> None:
    """Raise ``UserError`` for a section that cannot be found or lacks a method.

    A comparison calls this before its first job, so that a mistake does not wait for its last.
    """
    settings = validated(ReportSettings, config.report, "report")
    for group in ("sections", "run_sections"):
        for name, path in getattr(settings, group).items():
            find_plug(f"report.{group}.{name}", path, {}, Section)


def _join(parts: Iterable[tuple[str, Mapping[str, Named]]]) -> dict[str, Named]:
    """Join names of all parts. Raises ``UserError`` where two parts use one name."""
    joined: dict[str, Named] = {}
    for setting, named in parts:
        twice = joined.keys() & named.keys()
        if twice:
            raise UserError(f"{setting}: {min(twice)} is a name of another section; give another")
        joined |= named
    return joined


def _check_kinds(method: str, values: Iterable[Any], kinds: tuple[type, ...]) -> list[Any]:
    values = list(values)
    for value in values:
        if not isinstance(value, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise UserError(f"{method}() gives a {type(value).__name__}, but each is to be {names}")
    return values
