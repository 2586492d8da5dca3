"""Words that systems get right, by frequency, and sentences by score, length and label."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import altair as alt
import numpy as np
from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.histograms import count_histogram
from lightning_modules.figures.lines import Lines, figures_of, point
from lightning_modules.metrics.bleu import bleu
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.resampling import resampled_sums
from lightning_modules.metrics.sentences import (
    LENGTH_DIFFERENCE_BUCKETS,
    SCORE_BUCKETS,
    SentenceBucket,
    bucket_by_label,
    bucket_by_length_difference,
    bucket_by_score,
)
from lightning_modules.metrics.systems import EvalSet, Output, Subsets, System
from lightning_modules.metrics.text_metrics import (
    SENTENCE_BLEU,
    sentence_bleu,
    sentence_bleu_signature,
)
from lightning_modules.metrics.word_accuracy import (
    FREQUENCY_GROUPS,
    precision_recall_f1,
    tokens,
    word_accuracy,
)
from lightning_modules.tracking.report_blocks import Block, Pictures
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.score_tables import (
    UNCERTAINTY,
    how_to_read,
    origin,
    seeds,
    subset_scores,
    system_column,
)
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section

BY_FREQUENCY = "words_by_frequency"
MEASURES = [
    Column("precision", "precision (%)", "estimate", best=1),
    Column("recall", "recall (%)", "estimate", best=1),
    Column("f1", "F1 of words (%)", "estimate", best=1),
]
Sort = Callable[[Output, Sequence[str]], list[SentenceBucket]]
"""A function that puts an output's sentences into buckets, given the references."""


class SentenceBuckets(NamedTuple):
    """One way to put sentences into buckets."""

    by: str
    labels: Sequence[str]
    """All buckets in order."""
    sort: Sort


BUCKETS: dict[str, SentenceBuckets] = {
    "sentences_by_score": SentenceBuckets(
        "BLEU of the sentence",
        SCORE_BUCKETS,
        lambda output, _: bucket_by_score(sentence_bleu(output.statistics)),
    ),
    "sentences_by_length_difference": SentenceBuckets(
        "words more than the reference",
        LENGTH_DIFFERENCE_BUCKETS,
        lambda output, references: bucket_by_length_difference(references, output.hypotheses),
    ),
}
"""Buckets by the names of their tables, which the page draws instead."""


class WordGroup(NamedTuple):
    """Scores of a system on the words that are about equally frequent."""

    system: System
    frequency: str
    words: int
    """Number of such words in the references."""
    estimates: list[Estimate | None]
    """Precision, recall and F1."""


class Words(Section):
    """Accuracy of words by frequency, and groups of sentences."""

    heading = "Words and sentences"
    template = '{% include "sections/folds.html.j2" %}'
    charted = BUCKETS

    @property
    def _evaluation(self) -> Evaluation:
        return self.findings.evaluation

    @cached_property
    def _words(self) -> list[WordGroup]:
        return list(word_groups(self._evaluation))

    @cached_property
    def _buckets(self) -> dict[str, Table]:
        return {name: _bucket_table(self._evaluation, name) for name in BUCKETS}

    @override
    def tables(self) -> Sequence[Table]:
        by_label = subset_scores(
            self._evaluation,
            "sentences_by_label",
            "Sentences by label",
            "label of the sentence",
            _by_label,
        )
        words = _word_table(self._evaluation, self._words)
        return [words, *self._buckets.values(), *by_label]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        labels = {system.name: system.label for system in self._evaluation.systems}
        drawn = {name: _bucket_chart(table, labels, width) for name, table in self._buckets.items()}
        return figures_of(BY_FREQUENCY, _word_lines(self._evaluation, self._words), width) | drawn

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Pictures(figures)]


def word_groups(evaluation: Evaluation) -> Iterator[WordGroup]:
    """Yield the scores of every system on words of each frequency, without unused groups."""
    for system in evaluation.systems:
        references = tokens(system.test.references)
        frequencies = _frequencies(evaluation, references, system)
        counts = np.stack(
            [
                word_accuracy(references, tokens(output.hypotheses), frequencies)
                for output in system.outputs
            ]
        ).astype(np.float64)  # (seeds, sentences, groups, columns)
        by_seed = precision_recall_f1(counts.sum(1))  # (seeds, groups, measures)
        columns = np.concatenate(list(counts.reshape(*counts.shape[:2], -1)), axis=1)
        sums = resampled_sums(columns, evaluation.draws)
        resampled = precision_recall_f1(sums.reshape(-1, len(counts), *counts.shape[2:])).mean(1)
        for group, name in enumerate(FREQUENCY_GROUPS):
            words = int(counts[0, :, group, -1].sum())
            estimates = [
                Estimate.of(by_seed[:, group, measure], resampled[:, group, measure])
                for measure in range(len(MEASURES))
            ]
            if words or any(estimates):
                yield WordGroup(system, name, words, estimates)


def _in_training(evaluation: Evaluation) -> bool:
    """Return whether the frequency of words in training is known of every system."""
    return all(system.test.reference_counts is not None for system in evaluation.systems)


def _frequencies(
    evaluation: Evaluation, references: Sequence[Sequence[str]], system: System
) -> Mapping[str, int]:
    """Return how often words occur in training or else in the references."""
    counts = system.test.reference_counts if _in_training(evaluation) else None
    return Counter(chain.from_iterable(references)) if counts is None else counts


def _frequency_title(evaluation: Evaluation) -> str:
    where = "training" if _in_training(evaluation) else "the test references"
    return f"times a word occurs in {where}"


def _word_origin(evaluation: Evaluation) -> dict[str, str | int]:
    return origin(evaluation) | {"tokenizer": "13a"}


def _word_table(evaluation: Evaluation, groups: Sequence[WordGroup]) -> Table:
    columns = [
        system_column(each.system for each in groups),
        Column("seeds", "seed"),
        Column("group", _frequency_title(evaluation)),
        Column("words", "words in the references", "count"),
        *MEASURES,
    ]
    rows: list[list[Cell]] = [
        [each.system.name, seeds(each.system), each.frequency, each.words, *each.estimates]
        for each in groups
    ]
    return Table(
        BY_FREQUENCY,
        f"Words right, by {_frequency_title(evaluation)}",
        columns,
        rows,
        _word_origin(evaluation),
        "A word is right where its sentence's reference has it, each once. "
        f"{UNCERTAINTY} Groups that a resample may lack have no interval.",
    )


def _word_lines(evaluation: Evaluation, groups: Sequence[WordGroup]) -> Lines:
    """Return F1 against frequency, one line for each system."""
    shown = [each for each in groups if each.words]
    order = list(dict.fromkeys(each.frequency for each in shown))
    axis = alt.Axis(labelAngle=0, grid=False, labelOverlap="greedy")
    return Lines(
        labels={each.system.name: each.system.label for each in shown},
        points=[
            point(each.system.label, each.frequency, each.estimates[-1], each.words < THIN)
            for each in shown
            if each.estimates[-1] is not None
        ],
        x=alt.X("group:O", sort=order, title=_frequency_title(evaluation), axis=axis),
        y_title=MEASURES[-1].title,
        from_zero=True,
        note=how_to_read(_word_origin(evaluation)),
    )


def _by_label(test: EvalSet) -> Subsets:
    return {bucket.label: bucket.sentences for bucket in bucket_by_label(test.labels or ())}


def _bucket_table(evaluation: Evaluation, name: str) -> Table:
    by, _, sort = BUCKETS[name]
    rows: list[list[Cell]] = []
    for system in evaluation.systems:
        sorted_outputs = [sort(output, system.test.references) for output in system.outputs]
        for buckets in zip(*sorted_outputs, strict=True):
            counts = [len(bucket.sentences) for bucket in buckets]
            if any(counts):
                scores = [
                    float(bleu(output.statistics["bleu"][bucket.sentences].sum(0)))
                    for output, bucket in zip(system.outputs, buckets, strict=True)
                    if len(bucket.sentences)
                ]
                means = float(np.mean(counts)), float(np.mean(scores))
                rows.append([system.name, seeds(system), buckets[0].label, *means])
    columns = [
        system_column(evaluation.systems),
        Column("seeds", "seed"),
        Column("group", by),
        Column("count", "sentences (mean over seeds)", "number"),
        Column("bleu", "their corpus BLEU", "number"),
    ]
    return Table(
        name,
        f"Sentences by {by}",
        columns,
        rows,
        origin(evaluation, "bleu") | {SENTENCE_BLEU: sentence_bleu_signature()},
        "Of several seeds, means over those with such sentences.",
    )


def _bucket_chart(table: Table, labels: Mapping[str, str], width: Width) -> Chart:
    """Draw the sentences of each system in each bucket."""
    keys = ("system", "seeds", "group", "sentences", "bleu")
    rows = [dict(zip(keys, [labels[str(row[0])], *row[1:]], strict=True)) for row in table.rows]
    by, groups, _ = BUCKETS[table.name]
    places = [groups.index(str(row["group"])) for row in rows]
    shown = groups[min(places) : max(places) + 1] if places else groups
    return count_histogram(rows, labels, shown, by, table.caption, width)
