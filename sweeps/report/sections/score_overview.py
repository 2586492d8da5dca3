"""Scores on the whole test set, by length, and their trend."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table as Printed
from rich.text import Text
from typing_extensions import override

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.systems import System
from lightning_modules.testing.scoring import MEANING
from sweeps.comparison.numbers import NOTHING, format_estimate, format_number
from sweeps.comparison.score_tables import by_length, named_seeds, score_tables, trends
from sweeps.comparison.tables import Table
from sweeps.report.sections import Section
from sweeps.report.terminal import empty_table

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
        bounds = evaluation.bounds
        whole = [name for name in WHOLE if name in {each.name for each in evaluation.metrics}]
        title = f"BLEU, whole test set [95%] and by {evaluation.scoring.length_axis}"
        title += "".join(f"; {WHOLE[name]}: {METRICS[name].label}" for name in whole)
        printed = empty_table(title, "system", "seed", "BLEU")
        for each in bounds:
            thin = "*" if min(evaluation.sentences(each)) < THIN else ""
            printed.add_column(each.label + thin, justify="right", no_wrap=True)
        for name in whole:
            printed.add_column(WHOLE[name], justify="right")
        for system, seed in named_seeds(evaluation, "bleu"):
            self._add_row(printed, system, seed, whole)
        return [printed, MEANING] if evaluation.baselines else [printed]

    def _add_row(
        self, printed: Printed, system: System, seed: str | None, whole: Sequence[str]
    ) -> None:
        evaluation = self.findings.evaluation
        bleu = evaluation.estimate(system, None, "bleu")
        printed.add_row(
            Text(system.label),
            NOTHING if seed is None else seed,
            NOTHING if bleu is None else format_estimate(bleu, 1),
            *(_mean(evaluation.estimate(system, each, "bleu")) for each in evaluation.bounds),
            *(_mean(evaluation.estimate(system, None, name)) for name in whole),
            style="dim" if seed is None else None,
        )


def _mean(estimate: Estimate | None) -> str:
    """Return the mean alone: with intervals the row would not fit 80 columns."""
    return NOTHING if estimate is None else format_number(estimate.value, 1)
