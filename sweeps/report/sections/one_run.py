"""Sections of the page of one run: scores, ten translations from short to long, conditions."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.systems import WITHOUT_UNKNOWN, System
from sweeps.comparison.conditions import Condition
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.score_tables import (
    KNOWN_WORDS,
    baselines_note,
    by_length,
    origin,
    uncertainty,
)
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section
from sweeps.report.sentence_cards import SentenceCard, typical_sentences

BETWEEN_RUNS = ("data order", "parameters", "flops", "tuning")
"""Conditions that say nothing of one run, or what stands elsewhere on its page."""


class ScoresOfRun(Section):
    """Scores on the whole test set and on its parts, and of translations without a model; BLEU by
    length."""

    heading = "Scores"

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self.findings.evaluation
        names = [metric.name for metric in evaluation.metrics]
        labels = {metric.name: metric.label for metric in evaluation.metrics}
        estimates = dict(self._estimates(names))
        columns = [Column("score", "score", labels=labels)]
        columns += [Column(key, key.replace("_", " "), "estimate", 2) for key in estimates]
        rows: list[list[Cell]] = [
            [name, *(of.get(name) for of in estimates.values())] for name in names
        ]
        [run] = self.findings.comparison.runs
        notes = [uncertainty(evaluation)]
        notes += [KNOWN_WORDS] if WITHOUT_UNKNOWN in run.result.subsets else []
        baselines = [each.label for each in evaluation.baselines]
        notes += [baselines_note(baselines)] if baselines else []
        about = origin(evaluation, *names)
        scores = Table("scores", "Scores", columns, rows, about, " ".join(notes))
        bleu = [metric for metric in evaluation.metrics if metric.name == "bleu"]
        return [scores, *(by_length(evaluation, metric) for metric in bleu)]

    def _estimates(self, metrics: Sequence[str]) -> Iterator[tuple[str, dict[str, Estimate]]]:
        """Yield the scores of the run, on parts of the test set, and of its baselines."""
        evaluation, [run] = self.findings.evaluation, self.findings.comparison.runs
        [system] = evaluation.systems
        yield "whole_test_set", _known(evaluation, system, metrics)
        for name, part in run.result.subsets.items():
            yield (
                f"{name.replace(' ', '_')} (n = {part.sentences:,})",
                {
                    metric: Estimate(score, *part.intervals.get(metric, (None, None)))
                    for metric, score in part.scores.items()
                },
            )
        for baseline in evaluation.baselines:
            yield baseline.label.replace(" ", "_"), _known(evaluation, baseline, metrics)


def _known(evaluation: Evaluation, system: System, metrics: Sequence[str]) -> dict[str, Estimate]:
    found = {metric: evaluation.estimate(system, None, metric) for metric in metrics}
    return {metric: score for metric, score in found.items() if score is not None}


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
