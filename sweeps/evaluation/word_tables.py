"""Which words and n-grams systems get right."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.ngrams import Kind, SalientNgram, ngram_counts, salient
from lightning_modules.metrics.resampling import Resamples, interval, resampled_sums
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
from sweeps.evaluation.evaluation import Evaluation, Group
from sweeps.evaluation.score_tables import SYSTEM, UNCERTAINTY, origin, seeds
from sweeps.evaluation.tables import Cell, Column, Table

Sentences = Sequence[Sequence[str]]
ACCURACIES = ("precision", "recall", "f1")
KINDS: dict[Kind, str] = {
    "matched": "right more often",
    "over": "written in excess",
    "under": "missing",
}
TOP_NGRAMS = 10


def word_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Tables of words and n-grams."""
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
        yield _source_recall(evaluation)
    for group in evaluation.groups:
        if len(group.systems) > 1:
            yield _ngrams(evaluation, group)


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
    rows: list[list[Cell]] = []
    for system, references, outputs in grouped:
        counts = np.stack([word_accuracy(references, output) for output in outputs])
        # (seeds, sentences, groups, 3)
        estimates = _estimates(counts, precision_recall_f1, evaluation.scoring.draws)
        words = counts[0, :, :, 2].sum(0)
        for group, label in enumerate(references.names):
            told = [estimates[group, column] for column in range(len(ACCURACIES))]
            if words[group] or any(told):
                rows.append([system.name, seeds(system), label, int(words[group]), *told])
    columns = [
        SYSTEM,
        Column("seeds", "seed"),
        Column("group", grouped_by),
        Column("words", "words in the references", "count"),
        Column("precision", "precision (%)", "estimate"),
        Column("recall", "recall (%)", "estimate"),
        Column("f1", "F1 of words (%)", "estimate"),
    ]
    return Table(
        name,
        f"Words right, by {grouped_by}",
        columns,
        rows,
        origin(evaluation) | {"tokenizer": tokenizer},
        f"A word is right where its sentence's reference has it, each once. {UNCERTAINTY}",
    )


def _estimates(
    counts: NDArray[np.integer] | Array, score: Callable[[Array], Array], resamples: Resamples
) -> dict[tuple[int, int], Estimate | None]:
    """Estimates by (group, score) from counts ``(seeds, sentences, groups, columns)``."""
    flat = np.concatenate([one.reshape(len(one), -1) for one in counts], axis=1)
    shape = (len(counts), *counts.shape[2:])
    resampled = resampled_sums(flat.astype(np.float64), resamples).reshape(-1, *shape)
    by_seed = score(counts.sum(1).astype(np.float64))  # (seeds, groups, scores)
    means = score(resampled).mean(1)  # (resamples, groups, scores)
    found: dict[tuple[int, int], Estimate | None] = {}
    for group, column in np.ndindex(*by_seed.shape[1:]):
        values = by_seed[:, group, column]
        low, high = interval(means[:, group, column])
        found[group, column] = (
            None
            if np.isnan(values).any()
            else Estimate(
                float(values.mean()),
                None if np.isnan(low) else low,
                None if np.isnan(high) else high,
                float(values.std(ddof=1)) if len(values) > 1 else None,
                tuple(map(float, values)),
            )
        )
    return found


def _nats(system: System) -> list[Sequence[Sequence[float]]] | None:
    """Of the words of the references by each seed; None unless all seeds have them."""
    nats = [output.reference_nats for output in system.outputs]
    known = [of_words for of_words in nats if of_words is not None]
    return known if len(known) == len(nats) else None


def _likelihood(evaluation: Evaluation, systems: Sequence[System]) -> Table:
    """How probable systems find the words of the references: compare-mt's ``compare-ll``."""
    trained = all(system.test.reference_word_counts is not None for system in systems)
    rows: list[list[Cell]] = []
    for system in systems:
        references = [line.split() for line in system.test.references]
        known = system.test.reference_word_counts
        own = Counter(chain.from_iterable(references))
        grouped = group_by_frequency(references, known if known and trained else own)
        counts = np.stack([_summed(grouped, nats) for nats in _nats(system) or []])
        estimates = _estimates(counts, _mean, evaluation.scoring.draws)
        words = counts[0, :, :, 1].sum(0)
        rows += [
            [system.name, seeds(system), label, int(words[group]), estimates[group, 0]]
            for group, label in enumerate(grouped.names)
            if words[group]
        ]
    columns = [
        SYSTEM,
        Column("seeds", "seed"),
        Column("group", f"times a word occurs in {'training' if trained else 'the references'}"),
        Column("words", "words in the references", "count"),
        Column("nats", "negative log-likelihood of a word (nats)", "estimate", 2),
    ]
    return Table(
        "word_likelihood_by_frequency",
        "How improbable systems find the words of the references, by frequency",
        columns,
        rows,
        origin(evaluation) | {"tokenizer": "whitespace"},
        f"The reference before a word is given. Less is better. {UNCERTAINTY}",
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
    rows: list[list[Cell]] = []
    for system in evaluation.systems:
        test = system.test
        if test.sources is None or test.gold is None:
            continue
        sources = [line.split() for line in test.sources]
        known = test.source_counts
        counted = Counter(chain.from_iterable(sources)) if known is None else known
        grouped = group_by_frequency(sources, counted)
        references = [line.split() for line in test.references]
        links = [sorted(gold.sure) for gold in test.gold]
        counts = np.stack(
            [
                source_recall(grouped, references, [h.split() for h in output.hypotheses], links)
                for output in system.outputs
            ]
        )
        estimates = _estimates(counts, _percentage, evaluation.scoring.draws)
        for group, label in enumerate(grouped.names):
            total = int(counts[0, :, group, 1].sum())
            if total:
                rows.append([system.name, seeds(system), label, total, estimates[group, 0]])
    trained = all(system.test.source_counts is not None for system in evaluation.systems)
    columns = [
        SYSTEM,
        Column("seeds", "seed"),
        Column(
            "group",
            f"times a source word occurs in {'training' if trained else 'the test sources'}",
        ),
        Column("links", "links", "count"),
        Column("recall", "linked words translated (%)", "estimate"),
    ]
    return Table(
        "source_words_by_frequency",
        "Source words translated, by frequency",
        columns,
        rows,
        origin(evaluation) | {"tokenizer": "whitespace"},
        "Of the reference words that the gold alignment links (surely) to source words, how many "
        f"the translation has. {UNCERTAINTY}",
    )


def _percentage(sums: Array) -> Array:
    """Recalled of all links, ``(…, 2) -> (…, 1)``; NaN without links."""
    return 100 * ratio(sums)[..., None]


def _ngrams(evaluation: Evaluation, group: Group) -> Table:
    """Every system beside the one with the best BLEU, by their first seeds."""
    references = tokens(group.systems[0].test.references)
    best = max(group.systems, key=lambda system: _bleu(group, system))
    counts = {
        system.name: ngram_counts(references, tokens(system.outputs[0].hypotheses))
        for system in group.systems
    }
    rows: list[list[Cell]] = []
    for system in group.systems:
        if system is best:
            continue
        for kind, told in KINDS.items():
            sides = salient(counts[system.name], counts[best.name], kind, TOP_NGRAMS)
            for one, other, found in ((system, best, sides[0]), (best, system, sides[1])):
                rows += [[one.name, other.name, told, *_ngram(ngram)] for ngram in found]
    columns = [
        SYSTEM,
        Column("other", "beside"),
        Column("kind", "what happens to it"),
        Column("ngram", "n-gram"),
        Column("count", "times", "count"),
        Column("other_count", "by the other", "count"),
        Column("ratio", "ratio", "number", 2),
    ]
    place = evaluation.groups.index(group)
    return Table(
        "ngrams" if place == 0 else f"ngrams_{place + 1}",
        f"N-grams that set systems apart from {best.name}",
        columns,
        rows,
        {"sentences": len(references), "tokenizer": "13a", "seed": "the first of each system"},
        "The ratio is (a + 1) / (a + b + 2) for a times in the one and b in the other.",
    )


def _bleu(group: Group, system: System) -> float:
    estimate = group.scopes[0].estimate(system.name, "bleu")
    return estimate.value if estimate else 0.0


def _ngram(found: SalientNgram) -> list[Cell]:
    return [" ".join(found.ngram), found.count, found.other, found.ratio]
