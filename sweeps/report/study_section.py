"""The studies that tuned the systems, for reports; ``sweeps.studies`` makes the section."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lightning_modules.figures.charts import Chart
from lightning_modules.training.control.budgets import Kind
from sweeps.evaluation.figures import Width
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
    """Tables and figures of one study, or of several studies side by side."""

    tables: Mapping[str, Table]
    """``studies`` and ``search_performance``, by their names."""
    figures: Mapping[str, Sequence[StudyFigure]]
    """Figures of the trials, by the names of the studies."""
    parameters: Mapping[str, Sequence[str]]
    """Tuned settings, by the names of the studies."""
    kind: Kind
    """The budget of the trials."""
    curves: Callable[[Width], dict[str, Chart]]
    """Draws search performance by trials and by tokens; no chart if no trial finished."""
