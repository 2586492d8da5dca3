"""Which words systems get right."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.resampling import resampled_sums
from lightning_modules.metrics.scopes import Estimate
from lightning_modules.metrics.statistics import Array, ratio
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.words import (
    GroupedWords,
    group_by_case,
    group_by_frequency,
    group_by_label,
    label_names,
    precision_recall_f1,
    source_recall,
    tokens,
    word_accuracy,
)
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.score_tables import SYSTEM, UNCERTAINTY, origin, seeds
from sweeps.evaluation.tables import Cell, Column, Table

Sentences = Sequence[Sequence[str]]


def word_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Tables of words."""
    systems = evaluation.systems
    trained = all(system.test.reference_counts is not None for system in systems)
    yield _accuracy(
        evaluation,
        "words_by_frequency",
        f"times a word occurs in {'training' if trained else 'the test references'}",
        [_grouped(system, _by_frequency(system, trained)) for system in systems],
    )
    yield _accuracy(
        evaluation,
        "words_by_case",
        "case of a word",
        [_grouped(system, group_by_case) for system in systems],
    )
    labelled = [grouped for system in systems if (grouped := _by_label(system)) is not None]
    if labelled:
        yield _accuracy(evaluation, "words_by_label", "label of a word", labelled, "whitespace")
    scored = [system for system in systems if _nats(system) is not None]
    if scored:
        yield _likelihood(evaluation, scored)
    if any(system.test.gold and system.test.sources for system in systems):
        table = _source_recall(evaluation)
        if table.rows:
            yield table


class Grouped(NamedTuple):
    """The words of a system's outputs beside those of the references, in groups."""

    system: System
    references: GroupedWords
    outputs: list[GroupedWords]


def _grouped(system: System, group: Callable[[Sentences], GroupedWords]) -> Grouped:
    outputs = [group(tokens(output.hypotheses)) for output in system.outputs]
    return Grouped(system, group(tokens(system.test.references)), outputs)


def _by_frequency(system: System, trained: bool) -> Callable[[Sentences], GroupedWords]:
    counts = system.test.reference_counts
    if counts is None or not trained:
        counts = Counter(chain.from_iterable(tokens(system.test.references)))
    return lambda sentences: group_by_frequency(sentences, counts)


def _by_label(system: System) -> Grouped | None:
    """Words by the labels that were given for them; None unless all were."""
    of_references = system.test.word_labels
    of_outputs = [output.word_labels for output in system.outputs]
    known = [labels for labels in of_outputs if labels is not None]
    if of_references is None or len(known) < len(of_outputs):
        return None
    names = label_names(of_references, *known)
    outputs = [
        group_by_label([line.split() for line in output.hypotheses], labels, names)
        for output, labels in zip(system.outputs, known, strict=True)
    ]
    references = [line.split() for line in system.test.references]
    return Grouped(system, group_by_label(references, of_references, names), outputs)


def _accuracy(
    evaluation: Evaluation,
    name: str,
    grouped_by: str,
    grouped: Sequence[Grouped],
    tokenizer: str = "13a",
) -> Table:
    counted = [
        (system, references.names, np.stack([word_accuracy(references, one) for one in outputs]))
        for system, references, outputs in grouped
    ]
    columns = [
        Column("words", "words in the references", "count"),
        Column("precision", "precision (%)", "estimate"),
        Column("recall", "recall (%)", "estimate"),
        Column("f1", "F1 of words (%)", "estimate"),
    ]
    return _table(
        evaluation,
        name,
        f"Words right, by {grouped_by}",
        [Column("group", grouped_by), *columns],
        _rows(evaluation, counted, precision_recall_f1),
        tokenizer,
        "A word is right where its sentence's reference has it, each once.",
    )


Counted = tuple[System, Sequence[str], NDArray[np.integer] | Array]
"""A system, the names of groups, and counts ``(seeds, sentences, groups, columns)``; the last
column counts the words or links of the references."""


def _rows(
    evaluation: Evaluation, counted: Iterable[Counted], score: Callable[[Array], Array]
) -> list[list[Cell]]:
    """System, seeds, group, how many, and the estimates of ``score`` for each group in use."""
    rows: list[list[Cell]] = []
    for system, names, counts in counted:
        flat = np.concatenate([one.reshape(len(one), -1) for one in counts], axis=1)
        shape = (len(counts), *counts.shape[2:])
        sums = resampled_sums(flat.astype(np.float64), evaluation.draws).reshape(-1, *shape)
        by_seed = score(counts.sum(1).astype(np.float64))  # (seeds, groups, scores)
        means = score(sums).mean(1)  # (resamples, groups, scores)
        for group, name in enumerate(names):
            many = int(counts[0, :, group, -1].sum())
            estimates = [
                Estimate.of(by_seed[:, group, column], means[:, group, column])
                for column in range(by_seed.shape[2])
            ]
            if many or any(estimates):
                rows.append([system.name, seeds(system), name, many, *estimates])
    return rows


def _table(
    evaluation: Evaluation,
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    tokenizer: str,
    note: str,
) -> Table:
    return Table(
        name,
        title,
        [SYSTEM, Column("seeds", "seed"), *columns],
        rows,
        origin(evaluation) | {"tokenizer": tokenizer},
        f"{note} {UNCERTAINTY} Groups that a resample may lack have no interval.",
    )


def _nats(system: System) -> list[Sequence[Sequence[float]]] | None:
    """Of the words of the references by each seed; None unless all seeds have them."""
    nats = [output.reference_nats for output in system.outputs]
    known = [of_words for of_words in nats if of_words is not None]
    return known if len(known) == len(nats) else None


def _likelihood(evaluation: Evaluation, systems: Sequence[System]) -> Table:
    """How probable systems find the words of the references: compare-mt's ``compare-ll``."""
    trained = all(system.test.reference_word_counts is not None for system in systems)
    counted: list[Counted] = []
    for system in systems:
        references = [line.split() for line in system.test.references]
        known = system.test.reference_word_counts
        own = Counter(chain.from_iterable(references))
        grouped = group_by_frequency(references, known if known and trained else own)
        counts = np.stack([_summed(grouped, nats) for nats in _nats(system) or []])
        counted.append((system, grouped.names, counts))
    where = "training" if trained else "the test references"
    columns = [
        Column("group", f"times a word occurs in {where}"),
        Column("words", "words in the references", "count"),
        Column("nats", "negative log-likelihood of a word (nats)", "estimate", 2),
    ]
    return _table(
        evaluation,
        "word_likelihood_by_frequency",
        "How improbable systems find the words of the references, by frequency",
        columns,
        _rows(evaluation, counted, _mean),
        "whitespace",
        "What the reference has before a word is given. Less is better.",
    )


def _summed(words: GroupedWords, nats: Sequence[Sequence[float]]) -> Array:
    """Nats and number of words of each group: ``(sentences, groups, 2)``."""
    width = len(words.names)
    return np.array(
        [
            (np.bincount(of_groups, of_words, width), np.bincount(of_groups, minlength=width))
            for of_groups, of_words in zip(words.groups, nats, strict=True)
        ]
    ).swapaxes(1, 2)


def _mean(sums: Array) -> Array:
    """Nats of a word, ``(…, 2) -> (…, 1)``; NaN without words."""
    return ratio(sums)[..., None]


def _source_recall(evaluation: Evaluation) -> Table:
    trained = all(system.test.source_counts is not None for system in evaluation.systems)
    counted: list[Counted] = []
    for system in evaluation.systems:
        test = system.test
        if test.sources is None or test.gold is None:
            continue
        sources = [line.split() for line in test.sources]
        own = Counter(chain.from_iterable(sources))
        known = test.source_counts
        grouped = group_by_frequency(sources, known if known and trained else own)
        references = [line.split() for line in test.references]
        links = [sorted(gold.sure) for gold in test.gold]
        counts = [
            source_recall(grouped, references, [line.split() for line in output.hypotheses], links)
            for output in system.outputs
        ]
        counted.append((system, grouped.names, np.stack(counts)))
    where = "training" if trained else "the test sources"
    columns = [
        Column("group", f"times a source word occurs in {where}"),
        Column("links", "links", "count"),
        Column("recall", "linked words translated (%)", "estimate"),
    ]
    return _table(
        evaluation,
        "source_words_by_frequency",
        "Source words translated, by frequency",
        columns,
        _rows(evaluation, counted, _percentage),
        "whitespace",
        "Of the reference words that the gold alignment links (surely) to source words, how many "
        "the translation has.",
    )


def _percentage(sums: Array) -> Array:
    """Recalled of all links, ``(…, 2) -> (…, 1)``; NaN without links."""
    return 100 * ratio(sums)[..., None]
