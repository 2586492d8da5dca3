"""Scores against sentence length: BLEU in full, the other scores in folds."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import figures_of
from lightning_modules.metrics.metric import Metric
from lightning_modules.tracking.report_blocks import Block, LengthCurves, Pictures
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.length_figures import length_lines
from sweeps.comparison.score_tables import by_length
from sweeps.comparison.tables import Table
from sweeps.report.findings import Findings
from sweeps.report.sections.section import Section

EVERY_SEED = "every_seed"
ALL_SETS = "all test sets"


class BleuByLength(Section):
    """The figure that the comparison is about, for each test set; its table is among the scores.

    Test sets that one run translated together have a figure for all sentences, then one for each.
    """

    heading = "BLEU against sentence length"
    template = '{% include "sections/bleu_by_length.html.j2" %}'

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        bleu = [each for each in self.findings.evaluation.metrics if each.name == "bleu"]
        curves: dict[str, Chart] = {}
        title = ALL_SETS if self.findings.sets else ""
        for place, part in enumerate(self.findings.evaluation.parts, start=1):
            ending = "" if place == 1 else f"_{place}"
            curves |= _curves(part, self.findings, bleu, width, title, ending)
        for each, part in self.findings.sets.items():
            curves |= _curves(part, self.findings, bleu, width, each, f"_of_{each}")
        return curves

    @override
    def page_texts(self) -> Mapping[str, str]:
        return {EVERY_SEED: self.findings.every_seed}

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        axis = self.findings.evaluation.scoring.length_axis
        return [LengthCurves(axis), Pictures(figures)]


class OtherScoresByLength(Section):
    """Every other score against length."""

    heading = "Other scores against length"
    template = '{% include "sections/folds.html.j2" %}'

    @property
    def _metrics(self) -> list[Metric]:
        return [each for each in self.findings.evaluation.metrics if each.name != "bleu"]

    @override
    def tables(self) -> Sequence[Table]:
        return [by_length(self.findings.evaluation, metric) for metric in self._metrics]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        return _curves(self.findings.evaluation, self.findings, self._metrics, width)

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Pictures(figures)]


def _curves(
    evaluation: Evaluation,
    findings: Findings,
    metrics: Sequence[Metric],
    width: Width,
    title: str = "",
    ending: str = "",
) -> dict[str, Chart]:
    words = evaluation.scoring.unit.endswith("words")
    limits = findings.comparison.train_limits if words else ()
    curves: dict[str, Chart] = {}
    for metric in metrics:
        lines = length_lines(evaluation, metric, width, limits, title)
        curves |= figures_of(f"{metric.name}_by_length{ending}", lines, width)
    return curves
