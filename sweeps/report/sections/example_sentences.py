"""Single sentences: where the systems look, and their translations side by side."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.heat_map import attention_panels
from sweeps.report.sections import Section


class AttentionViewer(Section):
    """Heat map of the sentence, system, layer and head that the reader chooses."""

    template = '{% include "sections/attention.html.j2" %}'

    @property
    @override
    def heading(self) -> str:
        return "Where it looks" if self.findings.alone else "Where the systems look"

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
        return {"attentions": self.findings.examples.plain}


class SideBySide(Section):
    """An easily read sentence, and those on which the systems differ most."""

    heading = "Sentences side by side"
    template = '{% include "sections/sentences.html.j2" %}'

    @override
    def page_data(self) -> Mapping[str, Any]:
        return {"attentions": self.findings.examples.plain}
