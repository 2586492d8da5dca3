"""The sections of a report: each is a class in a file of its own.

To add one, derive a class from ``Section`` and name it in ``conf/report/default.yaml``, or give
``+report.sections.NAME=my_section.Mine``.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from lightning_modules.figures.charts import Chart, Width
from sweeps.comparison.tables import Table
from sweeps.report.findings import Findings


class Section(ABC):
    """Section of a report: tables and figures, with their form on page, terminal and W&B.

    ``report.sections`` of the configuration names the sections, in the order of the page. Every
    table and figure is also a file. A section without anything to show leaves all out.
    """

    template = '{% include "sections/plain.html.j2" %}'
    """Jinja template of the page, or of a part of it. The template knows the ``section``, its
    ``tables`` by name, and the names of its ``figures``."""

    charted: Collection[str] = ()
    """Names of tables that the page shows as charts alone; each can be saved as CSV."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    @property
    @abstractmethod
    def heading(self) -> str:
        """The heading, which may be an attribute of the class."""

    @property
    def lines(self) -> Sequence[str]:
        """Lines of text for W&B, which gets the tables and figures of a section in any case."""
        return ()

    def tables(self) -> Sequence[Table]:
        """Return the tables; their names are those of files."""
        return []

    def figures(self, width: Width) -> Mapping[str, Chart]:
        """Return charts by the names of their files, ``width`` wide (points, or ``container``).

        On the page, a figure with the name of a table stands above the table.
        """
        return {}

    def page_figures(self) -> Mapping[str, Chart]:
        """Return the charts of the page; these may be more than those in files."""
        return self.figures("container")

    def page_texts(self) -> Mapping[str, str]:
        """Return CSV files that the page can save besides the tables, by name."""
        return {}

    def page_data(self) -> Mapping[str, Any]:
        """Return data for scripts of the page, by the ids of the elements that hold it."""
        return {}
