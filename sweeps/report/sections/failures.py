"""How the translations fail: bands over length, and a gallery of failures by length."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.failure_bands import LOOKS, Bands, failure_panel, failure_panels
from lightning_modules.metrics.failures import (
    APART,
    GROUP,
    LONGEST,
    REPEATED,
    SHORTEST,
    UNKNOWN_WORD,
    TranslationKind,
)
from lightning_modules.metrics.systems import System
from sweeps.comparison.failure_shares import failure_table
from sweeps.comparison.tables import Table
from sweeps.report.failure_gallery import Gallery, failure_gallery
from sweeps.report.sections import Section

DEFINITIONS: Mapping[TranslationKind, str] = {
    TranslationKind.RIGHT: "word for word the reference",
    TranslationKind.WRONG: "about as long as the reference, but with other words",
    TranslationKind.UNKNOWN: f"has {UNKNOWN_WORD} where the reference has none",
    TranslationKind.SHORT: (
        f"shorter than {SHORTEST:g} times the reference, by {APART} words or more"
    ),
    TranslationKind.LONG: (
        f"longer than {LONGEST:g} times the reference, by {APART} words or more; or at least "
        f"{REPEATED:.0%} of the words repeat a group of {GROUP} words of the same translation"
    ),
}
"""The kinds in words; the first from below that fits counts."""


class Failures(Section):
    """What goes wrong, how often at which length, and what that looks like."""

    template = '{% include "sections/failures.html.j2" %}'
    charted = ("failures_by_length",)

    @property
    @override
    def heading(self) -> str:
        return "How it fails" if self.findings.alone else "How they fail"

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        """Colour, name and definition of each kind, the highest band first."""
        kinds = list(TranslationKind)[::-1]
        return [(LOOKS[kind][0], kind.label, DEFINITIONS[kind]) for kind in kinds]

    @property
    @override
    def lines(self) -> Sequence[str]:
        return self._definitions if self._bands else []

    @property
    def _definitions(self) -> list[str]:
        return [f"{kind.label}: {words}" for kind, words in DEFINITIONS.items()]

    @cached_property
    def gallery(self) -> Gallery:
        """Typical failures by length."""
        return failure_gallery(self.findings)

    @property
    def panels(self) -> list[tuple[str, str]]:
        """Label of each system, and name of its figure on the page."""
        return [(bands.label, name) for name, bands in self._bands.items()]

    @override
    def tables(self) -> Sequence[Table]:
        return [failure_table(self.findings.failures)] if self._bands else []

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        if not self._bands or width == "container":
            return {}
        bands = list(self._bands.values())
        words = self.findings.evaluation.scoring.unit.replace("_", " ")  # panels are narrow
        return {"failures_by_length": failure_panels(bands, words, self._note, float(width))}

    @override
    def page_figures(self) -> Mapping[str, Chart]:
        return {
            name: failure_panel(bands, self._x_title, self._note)
            for name, bands in self._bands.items()
        }

    @property
    def _x_title(self) -> str:
        axis = self.findings.evaluation.length_axis
        return axis[0].upper() + axis[1:]

    @property
    def _note(self) -> str:
        kinds = "; ".join(self._definitions)
        means = ", means over seeds" if self.findings.several_seeds else ""
        said = f"Share of the translations of each kind{means}; if several fit, the last counts."
        return f"{said} {kinds[:1].upper()}{kinds[1:]}."

    @cached_property
    def _bands(self) -> dict[str, Bands]:
        """The bands of each system that has any, by the name of its figure on the page."""
        systems = self.findings.evaluation.systems
        made = [(number, self._bands_of(system)) for number, system in enumerate(systems, start=1)]
        return {f"failures_of_{number}": bands for number, bands in made if bands.shares}

    def _bands_of(self, system: System) -> Bands:
        failures, evaluation = self.findings.failures, self.findings.evaluation
        buckets = [each for each in evaluation.group(system).buckets if len(each.index)]
        return Bands(
            label=system.label,
            shares={each.bounds: failures.shares(system, each.bounds) for each in buckets},
            places={each.bounds: evaluation.mean_length(each.bounds) for each in buckets},
            sentences={each.bounds: len(each.index) for each in buckets},
        )
