"""What a reader must know first: unfair conditions, failed jobs, which systems differ."""

from collections.abc import Sequence

from typing_extensions import override

from lightning_modules.tracking.report_blocks import Block, Lines
from sweeps.comparison.conditions import Condition
from sweeps.report.sections.section import Section


class Summary(Section):
    """Alarms on top of the page; in W&B the conclusions, conditions and failed jobs."""

    heading = "What was found"
    template = '{% include "sections/summary.html.j2" %}'

    @property
    def broken(self) -> list[Condition]:
        """Conditions of a fair comparison that do not hold."""
        return [each for each in self.findings.comparison.conditions if not each.holds]

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        comparison = self.findings.comparison
        conditions = [
            f"{'held' if condition.holds else 'NOT HELD'}, {condition.name}: {condition.text}"
            for condition in comparison.conditions
        ]
        failed = [f"failed, {job.label}: {job.error}" for job in comparison.failed]
        return [Lines([*self.findings.conclusions, *conditions, *failed])]
