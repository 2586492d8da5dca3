"""Sections of the page of one run: its scores, ten translations from short to long, conditions."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.conditions import Condition
from sweeps.comparison.score_tables import UNCERTAINTY, by_length, origin
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section
from sweeps.report.sentence_cards import SentenceCard, typical_sentences

BETWEEN_RUNS = ("data order", "parameters", "flops", "tuning")
"""Conditions that say nothing of one run, or what stands elsewhere on its page."""


class ScoresOfRun(Section):
    """Scores on the whole test set, on its parts, and of translations without a model; BLEU by
    length."""

    heading = "Scores"

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        metrics = evaluation.metrics
        columns = [Column("of", "scores of"), Column("sentences", "sentences", "count")]
        columns += [
            Column(each.name, each.label, "estimate", each.decimals, best=each.better)
            for each in metrics
        ]
        names = [metric.name for metric in metrics]
        note = f"{UNCERTAINTY.partition(';')[0]}."
        scores = Table(
            "scores", "Scores", columns, list(self._rows(names)), origin(evaluation, *names), note
        )
        bleu = [metric for metric in metrics if metric.name == "bleu"]
        return [scores, *(by_length(evaluation, metric) for metric in bleu)]

    def _rows(self, metrics: Sequence[str]) -> Iterator[list[Cell]]:
        [run], [system] = self.findings.comparison.runs, self.findings.evaluation.systems
        evaluation, sentences = self.findings.evaluation, len(run.test.references)
        for each, name in (
            (system, "the whole test set"),
            *((b, b.label) for b in evaluation.baselines),
        ):
            yield [name, sentences, *(evaluation.estimate(each, None, m) for m in metrics)]
        for name, part in run.result.subsets.items():
            ends = part.intervals
            yield [
                name,
                part.sentences,
                *(
                    Estimate(part.scores[m], *ends.get(m, (None, None)))
                    if m in part.scores
                    else None
                    for m in metrics
                ),
            ]


class ShortToLong(Section):
    """Ten translations from short to long, each the typical one of its tenth of the sentences."""

    heading = "Ten translations, from short to long"
    template = '{% include "sections/short_to_long.html.j2" %}'

    @cached_property
    def cards(self) -> list[SentenceCard]:
        """The sentences with their translations, the shortest first."""
        by_number = {card.number: card for card in self.findings.examples.cards}
        [system] = self.findings.evaluation.systems
        return [by_number[number] for number in typical_sentences(system.test, system.outputs[0])]


class RunConditions(Section):
    """The settings that a comparison with this run would check."""

    heading = "Conditions"
    template = '{% include "sections/run_conditions.html.j2" %}'

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of a comparison, of which this run has the values."""
        known = self.findings.comparison.conditions
        return [each for each in known if each.name not in BETWEEN_RUNS]

    @property
    @override
    def lines(self) -> Sequence[str]:
        return [f"{each.name}: {each.text}" for each in self.conditions]
