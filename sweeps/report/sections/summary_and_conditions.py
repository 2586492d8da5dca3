"""What a reader must know first: findings, unfair conditions, failed jobs, texts that look
wrong; and all conditions of a fair comparison."""

from collections.abc import Sequence

from typing_extensions import override

from sweeps.comparison.conditions import MARKS, Condition
from sweeps.report.sections import Section


class Summary(Section):
    """Findings, alarms and what was compared; in W&B also the conditions."""

    heading = "What was found"
    template = '{% include "sections/summary.html.j2" %}'

    @property
    @override
    def lines(self) -> Sequence[str]:
        comparison = self.findings.comparison
        conditions = [
            f"{condition.state}, {condition.name}: {condition.text}"
            for condition in comparison.conditions
        ]
        warnings = [f"warning, {warning}" for warning in self.findings.warnings]
        failed = [f"failed, {job.label}: {job.error}" for job in comparison.failed]
        alarms = self.findings.alarms
        alarming = alarms.text if alarms else []
        said = self.findings
        opening = (said.answer, said.weak, said.behind, said.caution, said.next_step)
        first = [str(each) for each in opening if each]
        found = [str(finding) for finding in self.findings.headline]
        return [*alarming, *first, *found, *conditions, *failed, *warnings]


class Conditions(Section):
    """What was equal between the runs, and what was not, which comes first."""

    heading = "Conditions"
    marks = MARKS
    template = '{% include "sections/conditions.html.j2" %}'

    @property
    def others(self) -> list[Condition]:
        """The conditions that need a look, those that did not hold first."""
        others = [each for each in self._conditions if each.state != "held"]
        return sorted(others, key=lambda each: each.holds)

    @property
    def held(self) -> list[Condition]:
        """The conditions in which all runs were equal."""
        return [each for each in self._conditions if each.state == "held"]

    @property
    def _conditions(self) -> Sequence[Condition]:
        return self.findings.comparison.conditions
