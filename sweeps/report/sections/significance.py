"""Sections on differences between systems: are they real, and what does a window cost?"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from rich.console import RenderableType
from typing_extensions import override

from lightning_modules.tracking.report_blocks import Block, Lines
from sweeps.comparison.windows import WindowCost, lines, window_costs, window_table
from sweeps.evaluation.score_tables import origin
from sweeps.evaluation.significance_tables import significance_table
from sweeps.evaluation.tables import Table
from sweeps.report.findings import TESTS_OF_ONE_TRAINING
from sweeps.report.sections.section import Section
from sweeps.report.significance_matrix import SYMBOLS, Matrix, significance_matrices


class Significance(Section):
    """Tests of BLEU: conclusions, a matrix of all pairs, and every test."""

    heading = "Are the differences real?"
    template = '{% include "sections/significance.html.j2" %}'
    caution = TESTS_OF_ONE_TRAINING
    symbols = SYMBOLS

    @property
    def notes(self) -> list[str]:
        """What a reader of the p-values must know; nothing without tests."""
        tests = self.findings.significance.get("bleu")
        return [tests.why_no_less, tests.why_they_disagree] if tests else []

    @property
    def matrices(self) -> list[Matrix]:
        """A matrix for each range of lengths; none without tests."""
        tests = self.findings.significance.get("bleu")
        labels = {each.name: each.label for each in self.findings.evaluation.systems}
        return significance_matrices(tests, labels) if tests else []

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


class Windows(Section):
    """Systems with a window beside the same systems without one; nothing without such pairs."""

    heading = "What a window costs"
    template = """{% if section.lines %}<h2>{{ section.heading }}</h2>
<ul class="card conditions">
{% for line in section.lines %}<li><bdi>{{ line }}</bdi></li>{% endfor %}</ul>
{% from "macros.html.j2" import table %}{% for it in tables.values() %}{{ table(it) }}{% endfor %}
{% endif %}"""

    @cached_property
    def _costs(self) -> list[WindowCost]:
        findings = self.findings
        bleu = findings.significance.get("bleu")
        return window_costs(findings.evaluation, findings.comparison, bleu)

    @property
    def lines(self) -> list[str]:
        """A sentence about each window."""
        return list(lines(self._costs))

    @override
    def tables(self) -> Sequence[Table]:
        about, bleu = (
            origin(self.findings.evaluation, "bleu"),
            self.findings.significance.get("bleu"),
        )
        floor = bleu.floor if bleu else None
        return [window_table(self._costs, about, floor)] if self._costs else []

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        return self.lines

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Lines(self.lines), *super().wandb(tables, figures)]
