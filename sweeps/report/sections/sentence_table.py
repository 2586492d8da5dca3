"""Every test sentence with all translations, in one table that is searched and sorted."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from lightning_modules.metrics.failures import TranslationKind
from lightning_modules.metrics.lengths import sentence_lengths
from lightning_modules.metrics.systems import EvalSet, System
from lightning_modules.metrics.text_metrics import sentence_bleu
from sweeps.report.sections import Section

MOST_SENTENCES, MOST_TRANSLATIONS = 3_000, 15_000
"""Most that a page holds, so that it can be mailed: 3,000 sentences of five systems."""
MOST_ALONE = 1_000  # most sentences on the page of one run, of which there are many


class SentenceTable(Section):
    """All test sentences with the translations of the first seeds; nothing of several test sets."""

    heading = "Every sentence"
    template = '{% include "sections/sentence_table.html.j2" %}'

    @property
    def sentences(self) -> int:
        """Number of test sentences; 0 where there are several test sets."""
        groups = self.findings.evaluation.groups
        return len(groups[0].systems[0].test.references) if len(groups) == 1 else 0

    @cached_property
    def shown(self) -> list[int]:
        """The numbers of the sentences on the page, all or evenly spaced ones."""
        systems = max(1, len(self.findings.evaluation.systems))
        allowed = MOST_ALONE if self.findings.alone else MOST_SENTENCES
        most = min(self.sentences, allowed, MOST_TRANSLATIONS // systems)
        return [place * self.sentences // most for place in range(most)] if most else []

    @override
    def page_data(self) -> Mapping[str, Any]:
        if not self.shown:
            return {}
        evaluation = self.findings.evaluation
        return {
            "translations": {
                "systems": [system.label for system in evaluation.systems],
                "kinds": [kind.label for kind in TranslationKind],
                "unit": evaluation.scoring.unit.replace("_", " "),
                "rows": list(self._rows(evaluation.tests[0], evaluation.systems)),
            }
        }

    def _rows(self, test: EvalSet, systems: list[System]) -> Iterator[list[Any]]:
        """Yield number, length, source, reference, then text, BLEU and kind of each system."""
        lengths = sentence_lengths(test, self.findings.evaluation.scoring.unit)
        scores = [np.round(sentence_bleu(each.outputs[0].statistics), 1) for each in systems]
        kinds = [self.findings.failures.kinds[each.name][0] for each in systems]
        for number in self.shown:
            yield [
                number,
                int(lengths[number]),
                None if test.sources is None else test.sources[number],
                test.references[number],
                [each.outputs[0].hypotheses[number] for each in systems],
                [float(each[number]) for each in scores],
                [int(each[number]) for each in kinds],
            ]
