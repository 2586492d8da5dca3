"""Words, n-grams and sentences that systems get right."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.figures.charts import Chart
from lightning_modules.figures.lines import Width
from lightning_modules.tracking.report_blocks import Block, Pictures
from sweeps.evaluation.figures import group_curve
from sweeps.evaluation.tables import Table
from sweeps.evaluation.words.ngram_tables import ngram_tables
from sweeps.evaluation.words.sentence_tables import sentence_tables
from sweeps.evaluation.words.word_groups import WordGroups, word_groups
from sweeps.evaluation.words.word_tables import word_table
from sweeps.report.sections.section import Section


class Words(Section):
    """Tables and figures of groups of words, n-grams and groups of sentences."""

    heading = "Words, n-grams and sentences"
    template = '{% include "sections/folds.html.j2" %}'

    @cached_property
    def _groups(self) -> list[WordGroups]:
        return list(word_groups(self.findings.evaluation))

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        words = map(word_table, self._groups)
        return [*words, *ngram_tables(evaluation), *sentence_tables(evaluation)]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        return {each.name: group_curve(each, width) for each in self._groups if each.drawn}

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Pictures(figures)]
