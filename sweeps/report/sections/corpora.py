"""The corpora that the systems were trained and tested on."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.histograms import length_histogram
from lightning_modules.runs.schema import Data
from sweeps.comparison.corpus_tables import HISTOGRAM, cleaning_tables, corpora_table, splits_table
from sweeps.comparison.tables import Table
from sweeps.report.sections import Section


class Corpora(Section):
    """Sentences, cleaning and lengths of each corpus; nothing for runs without statistics."""

    heading = "Data"
    template = '{% include "sections/data.html.j2" %}'

    @cached_property
    def _recorded(self) -> list[Data]:
        """The data of runs, once for each corpus and its padding."""
        found = [run.result.data for run in self.findings.comparison.runs]
        known = {
            (data.fingerprint, *data.padding.items()): data for data in found if data.statistics
        }
        return list(known.values())

    @property
    def _named(self) -> Iterable[tuple[Data, str]]:
        """Each corpus with an ending for the names of its files."""
        once = {data.fingerprint: data for data in reversed(self._recorded)}
        for place, data in enumerate(reversed(once.values()), start=1):
            yield data, "" if place == 1 else f"_{place}"

    @override
    def tables(self) -> Sequence[Table]:
        made = [corpora_table(self._recorded)] if self._recorded else []
        for data, ending in self._named:
            made += [splits_table(data, ending), *cleaning_tables(data, ending)]
        return made

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        return {
            f"{HISTOGRAM}{ending}": length_histogram(
                data.statistics, (data.source, data.target), data.name, width
            )
            for data, ending in self._named
            if data.statistics
        }
