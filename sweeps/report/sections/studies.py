"""The studies that tuned the systems."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from sweeps.comparison.tables import Table
from sweeps.report.sections import Section

STUDY_FIGURES = ("importances", "slices")  # figures of each study on the page of a comparison


class Studies(Section):
    """What the search cost, what it is expected to find, what matters; nothing without tuning."""

    heading = "Tuning"
    template = '{% include "sections/studies.html.j2" %}'
    shown = STUDY_FIGURES

    @override
    def tables(self) -> Sequence[Table]:
        studies = self.findings.studies
        return [studies.studies, studies.performance] if studies else []

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        studies = self.findings.studies
        return studies.curves(width) if studies else {}

    @override
    def page_figures(self) -> Mapping[str, Chart]:
        studies = self.findings.studies
        trials = studies.charts(STUDY_FIGURES) if studies else {}
        return {**self.figures("container"), **trials}
