"""Single sentences: their translations and the attention of all systems side by side."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.heat_map import attention_panels
from sweeps.comparison.numbers import format_number, in_words
from sweeps.report.explanations import AER
from sweeps.report.group_tests import quote
from sweeps.report.sections import Section


class SideBySide(Section):
    """The sentence that the reader chooses: words and maps of all systems, linked with each other.

    An easily read sentence comes first, then those on which the systems differ most.
    """

    template = '{% include "sections/sentences.html.j2" %}'

    @property
    @override
    def heading(self) -> str:
        return "Where it looks" if self.findings.alone else "Sentences side by side"

    @property
    def errors(self) -> str | None:
        """The alignment errors on the whole test set, the lowest first; None where not known."""
        evaluation = self.findings.evaluation
        known = {
            system: error
            for system in evaluation.systems
            if (error := evaluation.mean(system, None, AER)) is not None
        }
        shown = []
        for system in sorted(known, key=lambda each: known[each]):
            of = "" if self.findings.alone else f" for {quote(system)}"
            shown.append(f"{format_number(known[system], 1)}%{of}")
        if not shown:
            return None
        said = (
            f"Alignment error on the whole test set, 0% if all links are right: {in_words(shown)}"
        )
        tests = self.findings.group_tests
        lowest = min(known, key=lambda each: known[each])
        if len(tests) == 1 and tests[0].ranked[0] in known.keys() - {lowest}:
            best = quote(tests[0].ranked[0])
            said += f". The lowest is not that of {best}, which has the highest BLEU; why was not"
            said += " tested"
        return f"{said}."

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        panels = self.findings.examples.panels
        return {"attention": attention_panels(panels, width)} if panels else {}

    @override
    def page_figures(self) -> Mapping[str, Chart]:
        """Return nothing: the page has heat maps to step through."""
        return {}

    @override
    def page_data(self) -> Mapping[str, Any]:
        return {"sentences": self.findings.examples.plain}
