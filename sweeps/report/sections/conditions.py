"""The conditions of a fair comparison, and the jobs that failed."""

from collections.abc import Iterable, Mapping

from rich.console import RenderableType
from rich.text import Text
from typing_extensions import override

from sweeps.evaluation.tables import Table
from sweeps.report.sections.section import Section


class Conditions(Section):
    """What was equal between the runs, and what was not."""

    heading = "Conditions"
    template = '{% include "sections/conditions.html.j2" %}'

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        comparison = self.findings.comparison
        for condition in comparison.conditions:
            mark, style = ("✓ held", "green") if condition.holds else ("✗ NOT HELD", "bold red")
            yield Text.assemble((mark, style), f" {condition.name}: {condition.text}")
        for job in comparison.failed:
            failed = ("✗ failed job", "bold red")
            yield Text.assemble(failed, f" {job.label} ({job.folder}): {job.error}")
