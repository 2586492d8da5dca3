"""Scores on the whole test set, by length, and their trend."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table as Printed
from rich.text import Text
from typing_extensions import override

from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from sweeps.evaluation.score_tables import by_length, score_tables, seeds, trends
from sweeps.evaluation.tables import NOTHING, Table, shown_estimate
from sweeps.report.printed_tables import empty_table
from sweeps.report.sections.section import Section


class Scores(Section):
    """The main tables."""

    heading = "Scores"

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        bleu = [each for each in evaluation.metrics if each.name == "bleu"]
        curves = [by_length(evaluation, metric) for metric in bleu]
        return [*score_tables(evaluation), *curves, trends(evaluation)]

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        evaluation = self.findings.evaluation
        bounds = evaluation.bounds
        aligned = "aer" in {metric.name for metric in evaluation.metrics}
        title = f"BLEU, whole test set [95%] and by {evaluation.scoring.length_axis}"
        printed = empty_table(title, "system", "seed", "BLEU")
        for each in bounds:
            thin = "*" if min(evaluation.sentences(each)) < THIN else ""
            printed.add_column(each.label + thin, justify="right", no_wrap=True)
        if aligned:
            printed.add_column("AER %", justify="right")
        for system in evaluation.systems:
            self._add_row(printed, system, aligned)
        return [printed]

    def _add_row(self, printed: Printed, system: System, aligned: bool) -> None:
        evaluation = self.findings.evaluation
        whole = evaluation.estimate(system, None, "bleu")
        printed.add_row(
            Text(system.name),
            seeds(system),
            NOTHING if whole is None else shown_estimate(whole, 1),
            *(_mean(evaluation.estimate(system, each, "bleu")) for each in evaluation.bounds),
            *([_mean(evaluation.estimate(system, None, "aer"))] if aligned else []),
        )


def _mean(estimate: Estimate | None) -> str:
    """Return the mean alone: with intervals the row would not fit 80 columns."""
    return NOTHING if estimate is None else f"{estimate.value:.1f}"
