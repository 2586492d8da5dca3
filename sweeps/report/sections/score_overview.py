"""Scores on the whole test set, by length, and their trend."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from typing_extensions import override

from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import THIN
from lightning_modules.testing.scoring import MEANING
from sweeps.comparison.score_tables import (
    by_length,
    named_seeds,
    score_tables,
    system_column,
    trends,
)
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section
from sweeps.report.terminal import rich_table

WHOLE = {"exact": "EM", "aer": "AER"}
"""Short titles of the scores on the whole test set that the terminal shows next to BLEU."""


class Scores(Section):
    """The main tables."""

    heading = "Scores"

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

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        evaluation = self.findings.evaluation
        whole = [name for name in WHOLE if name in {each.name for each in evaluation.metrics}]
        title = f"BLEU, whole test set [95%] and by {evaluation.length_axis}"
        title += "".join(f"; {WHOLE[name]}: {METRICS[name].label}" for name in whole)
        shown = list(named_seeds(evaluation, "bleu"))
        columns = [system_column(system for system, _ in shown), Column("seed", "seed")]
        columns.append(Column("bleu", "BLEU", "estimate"))
        for each in evaluation.bounds:
            thin = "*" if min(evaluation.sentences(each)) < THIN else ""
            columns.append(Column(each.label, each.label + thin, "number"))
        columns += [Column(name, WHOLE[name], "number") for name in whole]
        # Means alone: with intervals a row would not fit 80 columns.
        rows: list[list[Cell]] = [
            [
                system.name,
                seed,
                evaluation.estimate(system, None, "bleu"),
                *(evaluation.mean(system, each, "bleu") for each in evaluation.bounds),
                *(evaluation.mean(system, None, name) for name in whole),
            ]
            for system, seed in shown
        ]
        printed = rich_table(Table("printed", title, columns, rows, {}))
        return [printed, MEANING] if evaluation.baselines else [printed]
