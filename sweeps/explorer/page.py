"""The explorer's page: of a server that traces what is typed, or a file with a bank of traces."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lightning_modules.figures.palette import looks_of
from lightning_modules.figures.search_charts import search_charts
from lightning_modules.tasks.progress import Advance
from sweeps.explorer.records import trace_record
from sweeps.explorer.tracer import MOST_BYTES, Tracer
from sweeps.report.html import packed, render_page

MOST_WEIGHTS = 4_000_000
"""Most weights of single heads in a file, about 5 MB; further translations have their mean."""


class ExplorerSystem(NamedTuple):
    """A trained run on the page."""

    name: str  # by which it has its colour
    label: str
    tracer: Tracer


class Example(NamedTuple):
    """A sentence of the test set."""

    number: int
    source: str
    reference: str


class Explorer(NamedTuple):
    """Systems side by side, and sentences to choose from."""

    systems: Sequence[ExplorerSystem]
    examples: Sequence[Example]
    search: str  # in words

    def record(self, number: int, sentence: str, seconds: float | None = None) -> dict[str, Any]:
        """Trace a sentence with a system, by its number; see ``Tracer`` for errors."""
        system = self.systems[number]
        return trace_record(system.tracer(sentence, seconds), system.label)

    def served_page(self) -> str:
        """Return the page of a server."""
        return self._page(bank=None, without_heads=0)

    def file_page(self, advance: Advance) -> str:
        """Return the page with the traces of all examples; ``advance`` counts translations."""
        bank: list[list[str]] = []
        left, without_heads = MOST_WEIGHTS, 0
        for example in self.examples:
            traces = []
            for number in range(len(self.systems)):
                record = self.record(number, example.source)
                drawn = record["map"] or {}
                if "heads" in drawn:
                    left -= np.size(drawn["heads"])
                    if left < 0:
                        del drawn["heads"]
                        without_heads += 1
                traces.append(packed(record))  # unpacked once it is shown
                advance(1)
            bank.append(traces)
        return self._page(bank, without_heads)

    def _page(self, bank: list[list[str]] | None, without_heads: int) -> str:
        labels = {system.name: system.label for system in self.systems}
        looks = looks_of(labels)
        data: dict[str, Any] = {
            "explorer": {
                "systems": [
                    {"label": label, "colour": looks[name].colour} for name, label in labels.items()
                ],
                "examples": [example._asdict() for example in self.examples],
                "serves": bank is None,
            },
            "bank": bank or [],
        }
        return render_page(
            "explorer.html.j2",
            search_charts(labels),
            files={},
            data=data,
            explorer=self,
            serves=bank is None,
            without_heads=without_heads,
            most_bytes=MOST_BYTES,
        )
