"""Words that systems get right, by frequency, and sentences by score, length and label."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import altair as alt
import numpy as np
from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.histograms import count_histogram
from lightning_modules.figures.lines import Lines, figures_of, point
from lightning_modules.metrics.bleu import bleu
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.resampling import resampled_sums
from lightning_modules.metrics.sentences import SCORE_BUCKETS, bucket_by_label, bucket_by_score
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.text_metrics import (
    SENTENCE_BLEU,
    sentence_bleu,
    sentence_bleu_signature,
)
from lightning_modules.metrics.word_accuracy import (
    FREQUENCY_GROUPS,
    precision_recall_f1,
    word_accuracy,
)
from lightning_modules.metrics.words import tokens
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.score_tables import (
    origin,
    origin_in_words,
    seeds,
    subset_scores,
    system_column,
    uncertainty,
)
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section

BY_FREQUENCY, BY_SCORE = "words_by_frequency", "sentences_by_score"
"""Names of the tables that have figures."""
SENTENCE_SCORE = "BLEU of the sentence"
MEASURES = [
    Column("precision", "precision (%)", "estimate", best=1),
    Column("recall", "recall (%)", "estimate", best=1),
    Column("f1", "F1 of words (%)", "estimate", best=1),
]


class WordAccuracy(Section):
    """Accuracy of words by frequency, and groups of sentences."""

    heading = "Words and sentences"
    template = '{% include "sections/choice.html.j2" %}'
    charted = (BY_SCORE,)

    @cached_property
    def _words(self) -> Table:
        return _word_table(self.findings.evaluation)

    @cached_property
    def _scores(self) -> Table:
        return _score_table(self.findings.evaluation)

    @override
    def tables(self) -> Sequence[Table]:
        by_label = subset_scores(
            self.findings.evaluation,
            "sentences_by_label",
            "Sentences by label",
            "label of the sentence",
            lambda test: bucket_by_label(test.labels or ()),
        )
        return [self._words, self._scores, *by_label]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        labels = {each.name: each.label for each in self.findings.evaluation.systems}
        bars = _score_chart(self._scores, labels, width)
        return figures_of(BY_FREQUENCY, _word_lines(self._words, labels), width) | {BY_SCORE: bars}


def _word_rows(evaluation: Evaluation) -> Iterator[list[Cell]]:
    """Yield the scores of every system on words of each frequency, without unused groups."""
    rows = {}
    for group in evaluation.groups:
        counts = _word_counts(evaluation, group)
        outputs = [each for system in group.systems for each in counts[system.name]]
        sums = resampled_sums(np.concatenate(outputs, axis=1), evaluation.draws)
        by_output = sums.reshape(len(sums), len(outputs), len(FREQUENCY_GROUPS), 3)
        first = 0
        for system in group.systems:
            after = first + len(counts[system.name])
            resampled = precision_recall_f1(by_output[:, first:after]).mean(1)  # over seeds
            rows[system.name] = _rows_of(system, counts[system.name], resampled)
            first = after
    for system in evaluation.systems:
        yield from rows[system.name]


def _word_counts(evaluation: Evaluation, group: EvalGroup) -> dict[str, list[Array]]:
    """Return counts of the outputs of each system by its name, ``(sentences, groups * 3)``."""
    test = group.systems[0].test
    rule = test.rules.target
    references = tokens(test.references, rule)
    counts = {}
    for system in group.systems:
        frequencies = _frequencies(evaluation, references, system)
        by_output = [
            word_accuracy(references, tokens(output.hypotheses, rule), frequencies)
            for output in system.outputs
        ]
        counts[system.name] = [
            each.reshape(len(references), -1).astype(np.float64) for each in by_output
        ]
    return counts


def _rows_of(system: System, counts: Sequence[Array], resampled: Array) -> Iterator[list[Cell]]:
    """Yield the rows of a system; ``resampled`` is ``(resamples, groups, measures)``."""
    sums = np.stack(counts).sum(1).reshape(len(counts), len(FREQUENCY_GROUPS), 3)
    by_seed = precision_recall_f1(sums)  # (seeds, groups, measures)
    for group, name in enumerate(FREQUENCY_GROUPS):
        words = int(sums[0, group, -1])
        estimates = [
            Estimate.of(by_seed[:, group, measure], resampled[:, group, measure])
            for measure in range(len(MEASURES))
        ]
        if words or any(estimates):
            yield [system.name, seeds(system), name, words, *estimates]


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


def _tokenizers(evaluation: Evaluation) -> list[str]:
    return list(dict.fromkeys(test.rules.target.tokenizer for test in evaluation.tests))


def _word_table(evaluation: Evaluation) -> Table:
    columns = [
        system_column(evaluation.systems),
        Column("seeds", "seed"),
        Column("group", _frequency_title(evaluation)),
        Column("words", "words in the references", "count"),
        *MEASURES,
    ]
    return Table(
        BY_FREQUENCY,
        f"Words right, by {_frequency_title(evaluation)}",
        columns,
        list(_word_rows(evaluation)),
        origin(evaluation) | {"tokenizer": "/".join(_tokenizers(evaluation))},
        "A word is right where its sentence's reference has it, each once. "
        f"{uncertainty(evaluation)} Groups that a resample may lack have no interval.",
        within="group",
    )


def _word_lines(table: Table, labels: Mapping[str, str]) -> Lines:
    """Return F1 against frequency, one line for each system."""
    shown = [row for row in table.rows if row[3]]
    order = list(dict.fromkeys(str(row[2]) for row in shown))
    axis = alt.Axis(labelAngle=0, grid=False, labelOverlap="greedy")
    return Lines(
        labels=labels,
        points=[
            point(labels[str(name)], str(group), f1, int(str(words)) < THIN)
            for name, _, group, words, *_, f1 in shown
            if isinstance(f1, Estimate)
        ],
        x=alt.X("group:O", sort=order, title=table.columns[2].title, axis=axis),
        y_title=MEASURES[-1].title,
        from_zero=True,
        note=origin_in_words(table.origin),
    )


def _score_rows(evaluation: Evaluation) -> Iterator[list[Cell]]:
    """Yield a row for each range of sentence BLEU: means over the seeds with such sentences."""
    for system in evaluation.systems:
        by_seed = [bucket_by_score(sentence_bleu(o.statistics)) for o in system.outputs]
        for label, *buckets in zip(SCORE_BUCKETS, *by_seed, strict=True):
            pairs = zip(system.outputs, buckets, strict=True)
            bleus = [
                float(bleu(output.statistics["bleu"][bucket].sum(0)))
                for output, bucket in pairs
                if len(bucket)
            ]
            if bleus:
                count = float(np.mean([len(bucket) for bucket in buckets]))
                yield [system.name, seeds(system), label, count, float(np.mean(bleus))]


def _sentence_signature(evaluation: Evaluation) -> dict[str, str]:
    each = dict.fromkeys(map(sentence_bleu_signature, evaluation.tests))
    return {SENTENCE_BLEU: " / ".join(each)}


def _score_table(evaluation: Evaluation) -> Table:
    columns = [
        system_column(evaluation.systems),
        Column("seeds", "seed"),
        Column("group", SENTENCE_SCORE),
        Column("count", "sentences (mean over seeds)", "number"),
        Column("bleu", "their corpus BLEU", "number"),
    ]
    return Table(
        BY_SCORE,
        f"Sentences by {SENTENCE_SCORE}",
        columns,
        list(_score_rows(evaluation)),
        origin(evaluation, "bleu") | _sentence_signature(evaluation),
        "Of several seeds, means over those with such sentences.",
    )


def _score_chart(table: Table, labels: Mapping[str, str], width: Width) -> Chart:
    """Draw the sentences of each system in each range of scores."""
    rows = [
        {"system": labels[str(name)], "group": group, "sentences": count, "bleu": score}
        for name, _, group, count, score in table.rows
    ]
    places = [SCORE_BUCKETS.index(str(row["group"])) for row in rows]
    groups = SCORE_BUCKETS[min(places) : max(places) + 1]
    return count_histogram(rows, labels, groups, SENTENCE_SCORE, table.caption, width)
