"""What a reader must know first: findings, unfair conditions, failed jobs, texts that look
wrong; and all conditions of a fair comparison."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text
from typing_extensions import override

from sweeps.comparison.conditions import MARKS, State
from sweeps.comparison.numbers import in_words
from sweeps.comparison.tables import Table
from sweeps.report.findings import CORPUS, TRAININGS
from sweeps.report.sections import Section

STYLES: dict[State, str] = {"held": "green", "differs by design": "cyan", "NOT HELD": "bold red"}
"""Colours of the states in the terminal."""


class Summary(Section):
    """Findings, alarms and what was compared; in W&B also the conditions."""

    heading = "What was found"
    template = '{% include "sections/summary.html.j2" %}'

    @property
    def warnings(self) -> list[str]:
        """Lines that say what looks wrong in texts and trainings."""
        return [line for lines in self.findings.suspicions.values() for line in lines]

    @property
    def warned(self) -> str:
        """What the warnings are about, and one of the warnings without its examples."""
        found = self.findings.suspicions
        systems = [each for each in found if each not in (CORPUS, TRAININGS)]
        of = systems[0] if len(systems) == 1 else f"{len(systems)} systems"
        parts = [each for each in (CORPUS, TRAININGS) if each in found]
        texts = in_words([*parts, f"translations of {of}"] if systems else parts)
        first = self.warnings[0].partition(": “")[0]
        return f"{texts}; such as: {first}" if len(self.warnings) > 1 else f"{texts}: {first}"

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        if self.findings.answer:
            yield Text(self.findings.answer, "bold")
        if self.findings.caution:
            yield Text(self.findings.caution, "yellow")
        for finding in self.findings.headline:
            yield Text.assemble("• ", finding.claim, (f" ({finding.test})", "dim"))
        for warning in self.warnings:
            yield Text.assemble(("✗ looks wrong", "bold red"), f" {warning}")

    @property
    @override
    def lines(self) -> Sequence[str]:
        comparison = self.findings.comparison
        conditions = [
            f"{condition.state}, {condition.name}: {condition.text}"
            for condition in comparison.conditions
        ]
        warnings = [f"warning, {warning}" for warning in self.warnings]
        failed = [f"failed, {job.label}: {job.error}" for job in comparison.failed]
        first = [each for each in (self.findings.answer, self.findings.caution) if each]
        found = [str(finding) for finding in self.findings.headline]
        return [*first, *found, *conditions, *failed, *warnings]


class Conditions(Section):
    """What was equal between the runs, and what was not."""

    heading = "Conditions"
    marks = MARKS
    template = '{% include "sections/conditions.html.j2" %}'

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        comparison = self.findings.comparison
        for condition in comparison.conditions:
            state = (f"{MARKS[condition.state]} {condition.state}", STYLES[condition.state])
            yield Text.assemble(state, f" {condition.name}: {condition.text}")
        for job in comparison.failed:
            failed = ("✗ failed job", "bold red")
            yield Text.assemble(failed, f" {job.label} ({job.folder}): {job.error}")
