"""Scores on the whole test set, by length, and their trend."""

from collections.abc import Sequence

from typing_extensions import override

from sweeps.comparison.score_tables import by_length, score_tables, trends
from sweeps.comparison.tables import Table
from sweeps.report.sections import Section


class Scores(Section):
    """The main tables."""

    heading = "Scores"
    template = '{% include "sections/tabs.html.j2" %}'

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        bleu = [each for each in evaluation.metrics if each.name == "bleu"]
        curves = [by_length(evaluation, metric) for metric in bleu]
        of_sets = [
            by_length(part, metric, of=name)
            for name, part in self.findings.sets.items()
            for metric in bleu
        ]
        return [*score_tables(evaluation), *curves, *of_sets, trends(evaluation)]
