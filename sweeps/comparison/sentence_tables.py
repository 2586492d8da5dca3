"""Tables of sentences by BLEU, length or label, and of sentences on which systems differ most."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.histograms import count_histogram
from lightning_modules.metrics.bleu import bleu
from lightning_modules.metrics.sentences import (
    LENGTH_DIFFERENCE_BUCKETS,
    SCORE_BUCKETS,
    SentenceBucket,
    bucket_by_label,
    bucket_by_length_difference,
    bucket_by_score,
    most_different,
)
from lightning_modules.metrics.systems import EvalSet, Output, Subsets, System
from lightning_modules.metrics.text_metrics import (
    SENTENCE_BLEU,
    sentence_bleu,
    sentence_bleu_signature,
)
from sweeps.comparison.evaluation import Evaluation, Group
from sweeps.comparison.score_tables import origin, seeds, subset_scores, system_column
from sweeps.comparison.tables import Cell, Column, Table

SENTENCES_SHOWN = 10
BUCKETED: dict[str, Sequence[str]] = {
    "sentences_by_score": SCORE_BUCKETS,
    "sentences_by_length_difference": LENGTH_DIFFERENCE_BUCKETS,
}
"""All buckets of the tables that the page draws instead, by the names of the tables."""
Sort = Callable[[Output, Sequence[str]], list[SentenceBucket]]
"""A function that puts an output's sentences into buckets, given the references."""


def sentence_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of sentences."""
    yield _buckets(
        evaluation,
        "sentences_by_score",
        "BLEU of the sentence",
        lambda output, _: bucket_by_score(sentence_bleu(output.statistics)),
    )
    yield _buckets(
        evaluation,
        "sentences_by_length_difference",
        "words more than the reference",
        lambda output, references: bucket_by_length_difference(references, output.hypotheses),
    )
    yield from subset_scores(
        evaluation, "sentences_by_label", "Sentences by label", "label of the sentence", _labelled
    )
    for group, name in evaluation.named_groups("differing_sentences"):
        yield _differing(group, name)


def _buckets(evaluation: Evaluation, name: str, grouped_by: str, sort: Sort) -> Table:
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
                label, mean = buckets[0].label, float(np.mean(scores))
                count = float(np.mean(counts))
                rows.append([system.name, seeds(system), label, count, mean])
    columns = [
        system_column(evaluation.systems),
        Column("seeds", "seed"),
        Column("group", grouped_by),
        Column("count", "sentences (mean over seeds)", "number"),
        Column("bleu", "their corpus BLEU", "number"),
    ]
    return Table(
        name,
        f"Sentences by {grouped_by}",
        columns,
        rows,
        origin(evaluation, "bleu") | {SENTENCE_BLEU: sentence_bleu_signature()},
        "Of several seeds, means over those with such sentences.",
    )


def bucket_chart(table: Table, systems: Sequence[System], width: Width) -> Chart:
    """Draw the table of a name in ``BUCKETED``: the sentences of each system in each bucket."""
    labels = {system.name: system.label for system in systems}
    keys = ("system", "seeds", "group", "sentences", "bleu")
    found = [dict(zip(keys, row, strict=True)) for row in table.rows]
    used = {each["group"] for each in found}
    groups = BUCKETED[table.name]
    places = [place for place, group in enumerate(groups) if group in used]
    shown = groups[min(places) : max(places) + 1] if places else groups
    rows = [{**each, "system": labels[str(each["system"])]} for each in found]
    return count_histogram(rows, labels, shown, table.columns[2].title, table.caption, width)


def once_a_sentence(table: Table) -> Table:
    """Return the table of differing sentences with source and reference once a sentence."""
    sentence, spread, system, score, translation, *_ = table.columns
    rows: list[list[Cell]] = []
    for row in table.rows:
        number, difference, _, _, _, reference, source = row
        if not rows or rows[-1][0] != number:
            given = [("source", source), ("reference", reference)]
            rows += [[number, difference, name, None, text] for name, text in given if text]
        rows.append(list(row[:5]))
    return replace(table, columns=[sentence, spread, system, score, translation], rows=rows)


def _labelled(test: EvalSet) -> Subsets:
    return {bucket.label: bucket.sentences for bucket in bucket_by_label(test.labels or ())}


def ranked(group: Group) -> list[int]:
    """Return sentence numbers, largest BLEU difference between systems' first seeds first."""
    outputs = [system.outputs[0] for system in group.systems]
    test = group.systems[0].test
    sources = test.sources or test.references
    identities = list(
        zip(sources, test.references, *(output.hypotheses for output in outputs), strict=True)
    )
    scores = np.stack([sentence_bleu(output.statistics) for output in outputs])
    return [int(number) for number in most_different(scores, identities)]


def _differing(group: Group, name: str) -> Table:
    """Return a table of sentences on which systems differ most, a row for each translation."""
    test = group.systems[0].test
    scores = np.stack([sentence_bleu(system.outputs[0].statistics) for system in group.systems])
    rows: list[list[Cell]] = [
        [
            number,
            float(np.ptp(scores[:, number])),
            system.name,
            float(score),
            system.outputs[0].hypotheses[number],
            test.references[number],
            None if test.sources is None else test.sources[number],
        ]
        for number in ranked(group)[:SENTENCES_SHOWN]
        for system, score in zip(group.systems, scores[:, number], strict=True)
    ]
    columns = [
        Column("sentence", "sentence, from 0", "count"),
        Column("range", "best less worst BLEU", "number"),
        system_column(group.systems),
        Column("bleu", "sentence BLEU", "number"),
        Column("translation", "translation"),
        Column("reference", "reference"),
        Column("source", "source"),
    ]
    return Table(
        name,
        "Sentences on which systems differ most",
        columns,
        rows,
        {
            "test sentences": len(test.references),
            "signature": sentence_bleu_signature(),
            "seed": "the first of each system",
        },
        "The best system's sentence BLEU less the worst's.",
    )
