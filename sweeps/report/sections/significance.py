"""Sections on the significance of differences between systems."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from typing_extensions import override

from lightning_modules.tracking.report_blocks import Block
from sweeps.evaluation.significance_tables import significance_table
from sweeps.evaluation.tables import Table
from sweeps.report.sections.section import Section
from sweeps.report.significance_matrix import SYMBOLS, Matrix, significance_matrices


class Significance(Section):
    """Tests of BLEU: conclusions, a matrix of all pairs, and every test."""

    heading = "Are the differences real?"
    template = '{% include "sections/significance.html.j2" %}'
    symbols = SYMBOLS

    @property
    def matrices(self) -> list[Matrix]:
        """A matrix for each range of lengths; none without tests."""
        tests = self.findings.significance.get("bleu")
        systems = [system.name for system in self.findings.evaluation.systems]
        return significance_matrices(tests, systems) if tests else []

    @override
    def tables(self) -> Sequence[Table]:
        tested = self.findings.significance.items()
        evaluation = self.findings.evaluation
        return [significance_table(evaluation, tests) for name, tests in tested if name == "bleu"]

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        return self.findings.conclusions


class OtherDifferences(Section):
    """Tests of every other score."""

    heading = "Differences in other scores"
    template = '{% include "sections/folds.html.j2" %}'

    @override
    def tables(self) -> Sequence[Table]:
        tested = self.findings.significance.items()
        evaluation = self.findings.evaluation
        return [significance_table(evaluation, tests) for name, tests in tested if name != "bleu"]

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return []
