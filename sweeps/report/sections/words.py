"""Words, n-grams and sentences that systems get right."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import figures_of
from lightning_modules.tracking.report_blocks import Block, Pictures
from sweeps.comparison.length_figures import group_lines
from sweeps.comparison.sentence_tables import (
    BUCKETED,
    bucket_chart,
    once_a_sentence,
    sentence_tables,
)
from sweeps.comparison.tables import Table
from sweeps.comparison.word_tables import WordGroups, word_groups, word_table
from sweeps.evaluation.words.ngram_tables import ngram_tables, ten_for_each_pair
from sweeps.report.sections.section import Section


class Words(Section):
    """Tables and figures of groups of words, n-grams and groups of sentences."""

    heading = "Words, n-grams and sentences"
    template = '{% include "sections/folds.html.j2" %}'
    charted = BUCKETED

    @cached_property
    def _groups(self) -> list[WordGroups]:
        return list(word_groups(self.findings.evaluation))

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        words = map(word_table, self._groups)
        return [*words, *ngram_tables(evaluation), *sentence_tables(evaluation)]

    @override
    def page_tables(self, tables: Mapping[str, Table]) -> Mapping[str, Table]:
        shorter = {"ngrams": ten_for_each_pair, "differing": once_a_sentence}
        return {
            name: shorter.get(name.partition("_")[0], lambda whole: whole)(table)
            for name, table in tables.items()
        }

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        words = {
            name: chart
            for each in self._groups
            if each.drawn
            for name, chart in figures_of(each.name, group_lines(each), width).items()
        }
        systems = self.findings.evaluation.systems
        return words | {
            table.name: bucket_chart(table, systems, width)
            for table in sentence_tables(self.findings.evaluation)
            if table.name in BUCKETED
        }

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Pictures(figures)]
