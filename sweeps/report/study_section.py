"""The studies that tuned the systems, for reports; ``sweeps.studies`` makes the section."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from lightning_modules.figures.charts import Chart
from lightning_modules.figures.sizes import Width
from sweeps.comparison.conditions import StudyCost
from sweeps.evaluation.tables import Table


@dataclass(frozen=True)
class StudyFigure:
    """One figure of a study; ``why_not`` says why ``chart`` is None."""

    name: str
    title: str
    chart: Chart | None = None
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class StudySection:
    """What there is to report of one study, or of several studies side by side."""

    costs: Sequence[StudyCost]
    kind: str
    """The budget of the trials."""
    studies: Table
    """A row for each study."""
    performance: Table
    """What each study is expected to find, by its number of trials."""
    curves: Callable[[Width], dict[str, Chart]]
    """Draws search performance by trials and by tokens; no chart if no trial finished."""
    figures: Mapping[str, Sequence[StudyFigure]]
    """Figures of the trials, by the names of the studies."""
    parameters: Mapping[str, Sequence[str]]
    """Tuned settings, by the names of the studies."""

    @property
    def tuned(self) -> set[str]:
        """The settings that at least one study has chosen."""
        return {key for keys in self.parameters.values() for key in keys}

    def charts(self, names: Collection[str] = ()) -> dict[str, Chart]:
        """Return the drawn figures of the trials, all or those of ``names``.

        The keys are those of ``studies.html.j2``, such as ``a-study-history``.
        """
        return {
            f"{study}-{figure.name}": figure.chart
            for study, figures in self.figures.items()
            for figure in figures
            if figure.chart is not None and (not names or figure.name in names)
        }
