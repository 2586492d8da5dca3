"""Size and speed of the models."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from typing_extensions import override

from lightning_modules.tracking.report_blocks import Block, RunTable, Tables
from sweeps.comparison.costs import speed_table
from sweeps.evaluation.tables import Table
from sweeps.report.printed_tables import printed_table
from sweeps.report.sections.section import Section

PRINTED = 5
"""Number of columns that the terminal prints: more would not fit 80 columns."""


class Speed(Section):
    """Costs of the models; nothing for files, whose costs are not known."""

    heading = "Size and speed"

    @override
    def tables(self) -> Sequence[Table]:
        comparison = self.findings.comparison
        return [speed_table(comparison)] if comparison.runs else []

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        return [printed_table(table, PRINTED) for table in tables.values()]

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Tables(tables), RunTable()]
