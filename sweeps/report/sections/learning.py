"""How the systems learned."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.tracking.report_blocks import Block, RunCurves
from sweeps.comparison.learning_curves import learning_figures, learning_table
from sweeps.comparison.tables import Table
from sweeps.report.sections.section import Section

MEASURES = ("val/bleu", "val/loss", "train/loss", "train/target_tokens_per_second")
"""Logged measures that the W&B report draws."""


class Learning(Section):
    """Learning curves; nothing without recorded validations."""

    heading = "How the systems learned"
    template = '{% include "sections/learning.html.j2" %}'

    @override
    def tables(self) -> Sequence[Table]:
        curves = self.findings.learning
        return [learning_table(curves, len(self.findings.comparison.runs))] if curves else []

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        curves = self.findings.learning
        return learning_figures(curves, width) if curves else {}

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [RunCurves(MEASURES), *super().wandb(tables, figures)]
