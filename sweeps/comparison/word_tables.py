"""Words that systems get right, in groups of words: by frequency, case or label."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.metric import Array, ratio
from lightning_modules.metrics.resampling import resampled_sums
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.word_accuracy import (
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
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.score_tables import UNCERTAINTY, origin, seeds, system_column
from sweeps.comparison.tables import Cell, Column, Table

Sentences = Sequence[Sequence[str]]


class Measure(NamedTuple):
    """A score of word groups: its key in files, its title and its decimals."""

    key: str
    title: str
    decimals: int = 1


class GroupScores(NamedTuple):
    """Scores of a system on a group of words."""

    system: System
    group: str
    words: int
    """Number of words, or of their links, in the references."""
    estimates: list[Estimate | None]
    """A score for each measure."""


WORDS = Measure("words", "words in the references")


@dataclass(frozen=True, eq=False)
class WordGroups:
    """Scores of all systems on groups of words."""

    name: str
    """Name of the files of table and figure."""
    title: str
    grouped_by: str
    counted: Measure
    measures: Sequence[Measure]
    scores: Sequence[GroupScores]
    origin: Mapping[str, str | int]
    """Settings that the scores depend on."""
    note: str
    drawn: str = ""
    """Key of the measure that the figure draws; empty for no figure."""


def word_groups(evaluation: Evaluation) -> Iterator[WordGroups]:
    """Yield the groups of words that can be made of what is known of the systems."""
    systems = evaluation.systems
    trained = all(system.test.reference_counts is not None for system in systems)
    yield _accuracy(
        evaluation,
        "words_by_frequency",
        f"times a word occurs in {'training' if trained else 'the test references'}",
        [_grouped(system, _by_frequency(system, trained)) for system in systems],
        drawn="f1",
    )
    yield _accuracy(
        evaluation,
        "words_by_case",
        "case of a word",
        [_grouped(system, group_by_case) for system in systems],
        drawn="f1",
    )
    labelled = [grouped for system in systems if (grouped := _by_label(system)) is not None]
    if labelled:
        yield _accuracy(evaluation, "words_by_label", "label of a word", labelled, "whitespace")
    scored = [system for system in systems if _nats(system) is not None]
    if scored:
        yield _likelihood(evaluation, scored)
    if any(system.test.gold and system.test.sources for system in systems):
        recalled = _source_recall(evaluation)
        if recalled.scores:
            yield recalled


class Grouped(NamedTuple):
    """Grouped words of the references and of each output of a system."""

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
    """Group words by their given labels; None unless references and all outputs have labels."""
    reference_labels = system.test.word_labels
    output_labels = [o.word_labels for o in system.outputs if o.word_labels is not None]
    if reference_labels is None or len(output_labels) < len(system.outputs):
        return None
    names = label_names(reference_labels, *output_labels)
    outputs = [
        group_by_label([line.split() for line in output.hypotheses], labels, names)
        for output, labels in zip(system.outputs, output_labels, strict=True)
    ]
    references = [line.split() for line in system.test.references]
    return Grouped(system, group_by_label(references, reference_labels, names), outputs)


def _accuracy(
    evaluation: Evaluation,
    name: str,
    grouped_by: str,
    grouped: Sequence[Grouped],
    tokenizer: str = "13a",
    drawn: str = "",
) -> WordGroups:
    counted = [
        (system, references.names, np.stack([word_accuracy(references, one) for one in outputs]))
        for system, references, outputs in grouped
    ]
    return WordGroups(
        name,
        f"Words right, by {grouped_by}",
        grouped_by,
        WORDS,
        [
            Measure("precision", "precision (%)"),
            Measure("recall", "recall (%)"),
            Measure("f1", "F1 of words (%)"),
        ],
        _scores(evaluation, counted, precision_recall_f1),
        origin(evaluation) | {"tokenizer": tokenizer},
        "A word is right where its sentence's reference has it, each once.",
        drawn,
    )


Counted = tuple[System, Sequence[str], NDArray[np.integer] | Array]
"""A system, the names of the groups, and counts ``(seeds, sentences, groups, columns)``, where the
last column counts the words or links of the references."""


def _scores(
    evaluation: Evaluation, counted: Iterable[Counted], score: Callable[[Array], Array]
) -> list[GroupScores]:
    """Return estimates of ``score`` for each system and group, without unused groups."""
    counted = list(counted)
    flat = [np.concatenate([one.reshape(len(one), -1) for one in part[2]], 1) for part in counted]
    scores = []
    for (system, names, counts), sums in zip(counted, _resampled(flat, evaluation), strict=True):
        shape = (len(counts), *counts.shape[2:])
        by_seed = score(counts.sum(1).astype(np.float64))  # (seeds, groups, scores)
        means = score(sums.reshape(-1, *shape)).mean(1)  # (resamples, groups, scores)
        for group, name in enumerate(names):
            count = int(counts[0, :, group, -1].sum())
            estimates = [
                Estimate.of(by_seed[:, group, column], means[:, group, column])
                for column in range(by_seed.shape[2])
            ]
            if count or any(estimates):
                scores.append(GroupScores(system, name, count, estimates))
    return scores


def _resampled(parts: Sequence[Array], evaluation: Evaluation) -> list[Array]:
    """Resample counts ``(sentences, columns)`` of several systems.

    The columns of all parts with as many sentences stand side by side: every part sees the same
    resamples, drawn once.
    """
    sums: dict[int, Array] = {}
    for sentences in {len(part) for part in parts}:
        numbers = [number for number, part in enumerate(parts) if len(part) == sentences]
        joined = np.concatenate([parts[number] for number in numbers], 1).astype(np.float64)
        ends = np.cumsum([parts[number].shape[1] for number in numbers])[:-1]
        resampled = np.split(resampled_sums(joined, evaluation.draws), ends, axis=1)
        sums |= dict(zip(numbers, resampled, strict=True))
    return [sums[number] for number in range(len(parts))]


def _nats(system: System) -> list[Sequence[Sequence[float]]] | None:
    """Return each seed's nats of the reference words; None unless all seeds have such nats."""
    nats = [o.reference_nats for o in system.outputs if o.reference_nats is not None]
    return nats if len(nats) == len(system.outputs) else None


def _likelihood(evaluation: Evaluation, systems: Sequence[System]) -> WordGroups:
    """Return the likelihood of reference words, as compare-mt's ``compare-ll`` does."""
    trained = all(system.test.reference_word_counts is not None for system in systems)
    counted: list[Counted] = []
    for system in systems:
        references = [line.split() for line in system.test.references]
        in_training = system.test.reference_word_counts
        in_test = Counter(chain.from_iterable(references))
        frequencies = in_training if in_training and trained else in_test
        grouped = group_by_frequency(references, frequencies)
        counts = np.stack([_summed(grouped, nats) for nats in _nats(system) or []])
        counted.append((system, grouped.names, counts))
    where = "training" if trained else "the test references"
    return WordGroups(
        "word_likelihood_by_frequency",
        "How improbable systems find the words of the references, by frequency",
        f"times a word occurs in {where}",
        WORDS,
        [Measure("nats", "negative log-likelihood of a word (nats)", 2)],
        _scores(evaluation, counted, _mean),
        origin(evaluation) | {"tokenizer": "whitespace"},
        "What the reference has before a word is given. Less is better.",
        drawn="nats",
    )


def _summed(words: GroupedWords, nats: Sequence[Sequence[float]]) -> Array:
    """Return sums of nats and numbers of words in each group: ``(sentences, groups, 2)``."""
    width = len(words.names)
    return np.array(
        [
            (np.bincount(groups, word_nats, width), np.bincount(groups, minlength=width))
            for groups, word_nats in zip(words.groups, nats, strict=True)
        ]
    ).swapaxes(1, 2)


def _mean(sums: Array) -> Array:
    """Return nats per word, ``(…, 2) -> (…, 1)``; NaN without words."""
    return ratio(sums)[..., None]


def _source_recall(evaluation: Evaluation) -> WordGroups:
    trained = all(system.test.source_counts is not None for system in evaluation.systems)
    counted: list[Counted] = []
    for system in evaluation.systems:
        test = system.test
        if test.sources is None or test.gold is None:
            continue
        sources = [line.split() for line in test.sources]
        in_training, in_test = test.source_counts, Counter(chain.from_iterable(sources))
        frequencies = in_training if in_training and trained else in_test
        grouped = group_by_frequency(sources, frequencies)
        references = [line.split() for line in test.references]
        links = [sorted(gold.sure) for gold in test.gold]
        counts = [
            source_recall(grouped, references, [line.split() for line in output.hypotheses], links)
            for output in system.outputs
        ]
        counted.append((system, grouped.names, np.stack(counts)))
    where = "training" if trained else "the test sources"
    return WordGroups(
        "source_words_by_frequency",
        "Source words translated, by frequency",
        f"times a source word occurs in {where}",
        Measure("links", "links"),
        [Measure("recall", "linked words translated (%)")],
        _scores(evaluation, counted, _percentage),
        origin(evaluation) | {"tokenizer": "whitespace"},
        "Of the reference words that the gold alignment links (surely) to source words, how many "
        "the translation has.",
        drawn="recall",
    )


def _percentage(sums: Array) -> Array:
    """Return the share of links recalled, in percent, ``(…, 2) -> (…, 1)``; NaN without links."""
    return 100 * ratio(sums)[..., None]


def word_table(groups: WordGroups) -> Table:
    """Return a table with a row for each system and group of words."""
    columns = [
        system_column(each.system for each in groups.scores),
        Column("seeds", "seed"),
        Column("group", groups.grouped_by),
        Column(groups.counted.key, groups.counted.title, "count"),
        *(Column(key, title, "estimate", decimals) for key, title, decimals in groups.measures),
    ]
    rows: list[list[Cell]] = [
        [each.system.name, seeds(each.system), each.group, each.words, *each.estimates]
        for each in groups.scores
    ]
    return Table(
        groups.name,
        groups.title,
        columns,
        rows,
        groups.origin,
        f"{groups.note} {UNCERTAINTY} Groups that a resample may lack have no interval.",
    )
