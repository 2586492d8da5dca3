"""Right and wrong translations: what systems choose, by distance and by kind of error."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.console import RenderableType
from rich.table import Table as Printed
from rich.text import Text
from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import distance_lines, figures_of
from lightning_modules.metrics.bootstrap import RIGHT_CHOICES, Estimate
from sweeps.comparison.contrast_tables import BY_DISTANCE, Contrast, contrast_tables, origin_of
from sweeps.comparison.length_figures import note_of
from sweeps.comparison.numbers import NOTHING, shown_estimate
from sweeps.comparison.tables import Table
from sweeps.report.sections.section import Section
from sweeps.report.terminal import empty_table


class Agreement(Section):
    """Choices between contrastive pairs; nothing where no run was tested with such pairs."""

    heading = "Agreement against distance"
    template = '{% include "sections/agreement.html.j2" %}'

    @property
    def _named(self) -> Iterable[tuple[Contrast, str]]:
        """Each set of pairs with an ending for the names of its files."""
        for place, contrast in enumerate(self.findings.contrasts, start=1):
            yield contrast, "" if place == 1 else f"_{place}"

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        return [
            table
            for contrast, ending in self._named
            for table in contrast_tables(evaluation, contrast, ending)
        ]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        figures: dict[str, Chart] = {}
        for contrast, ending in self._named:
            if contrast.of_kind("distance"):
                labels = {system.name: system.label for system in contrast.systems}
                lines = distance_lines(contrast.groups, labels, note_of(origin_of(contrast)))
                figures |= figures_of(f"{BY_DISTANCE}{ending}", lines, width)
        return figures

    @override
    def terminal(self, tables: Mapping[str, Table]) -> Iterable[RenderableType]:
        return [_printed(contrast) for contrast, _ in self._named]


def _printed(contrast: Contrast) -> Printed:
    """Return right choices by distance: with all intervals a row would not fit 80 columns."""
    groups = contrast.of_kind("all", "distances")
    everything, *ranges = [group.name for group in groups]
    title = "Right choices between two translations (%) [95%], and by distance in words"
    printed = empty_table(title, "system", everything, *ranges)
    for system in contrast.systems:
        whole, *others = [group.estimate(system.name) for group in groups]
        printed.add_row(
            Text(system.label), _shown(whole, interval=True), *(_shown(each) for each in others)
        )
    return printed


def _shown(estimate: Estimate | None, interval: bool = False) -> str:
    if estimate is None:
        return NOTHING
    shown = estimate if interval else Estimate(estimate.value)
    return shown_estimate(replace(shown, deviation=None), RIGHT_CHOICES.decimals)
