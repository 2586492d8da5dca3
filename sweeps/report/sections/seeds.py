"""What another training would give: the seeds of each system, and how often one beats another."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.seed_chart import seed_chart
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.resampling import probability_above
from lightning_modules.metrics.systems import System
from sweeps.comparison.score_tables import seeds, system_column
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.group_tests import BLEU
from sweeps.report.sections import Section

NOTE = (
    "Probability that a run of the first system has a higher BLEU than a run of the "
    "second, over all pairs of their seeds on the whole test set; equal scores count by half "
    "(Agarwal et al. 2021). 50%: the seed alone decides. Few seeds give few pairs: no test."
)


class SeedSpread(Section):
    """BLEU of every seed; nothing unless two systems of one test set have several seeds."""

    heading = "How much the seed matters"
    template = '{% include "sections/seeds.html.j2" %}'

    @property
    def _scores(self) -> dict[System, Estimate]:
        evaluation = self.findings.evaluation
        if len(evaluation.groups) != 1:
            return {}
        known = {each: evaluation.estimate(each, None, BLEU) for each in evaluation.systems}
        several = {each: score for each, score in known.items() if score and len(score.seeds) > 1}
        return several if len(several) > 1 else {}

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        labels = {each.name: each.label for each in self.findings.evaluation.systems}
        scores = {
            system.label: (score, [output.seed for output in system.outputs])
            for system, score in self._scores.items()
        }
        note = "Dots: seeds; line: their mean; bar: its 95% interval over test sentences."
        return {"bleu_by_seed": seed_chart(scores, labels, "BLEU", note, width)} if scores else {}

    @override
    def tables(self) -> Sequence[Table]:
        scores = self._scores
        if not scores:
            return []
        ranked = sorted(scores, key=lambda system: -scores[system].value)
        rows: list[list[Cell]] = []
        for first, second in combinations(ranked, 2):
            one, other = (np.array(scores[system].seeds) for system in (first, second))
            above = probability_above(one[:, None] - other)
            named = f"{seeds(first)} and {seeds(second)}"
            rows.append([first.name, second.name, named, 100 * above, len(one) * len(other)])
        columns = [
            system_column(ranked, "first", "first"),
            system_column(ranked, "second", "second"),
            Column("seeds", "seeds"),
            Column("probability", "probability of improvement (%)", "number", 0),
            Column("pairs", "pairs of runs", "count"),
        ]
        sentences = "/".join(map(str, self.findings.evaluation.sentences(None)))
        origin = {"test sentences": sentences}
        return [
            Table(
                "probability_of_improvement",
                "Which training is better",
                columns,
                rows,
                origin,
                NOTE,
            )
        ]
