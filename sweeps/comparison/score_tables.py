"""Tables of scores, scores by length, and trends over length."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from datamodules.nearest_copy import NEAREST_COPY
from lightning_modules.metrics.bootstrap import Estimate, score_subset
from lightning_modules.metrics.lengths import THIN, falls_below, slope_per_ten
from lightning_modules.metrics.metric import Metric, TextMetric
from lightning_modules.metrics.resampling import interval
from lightning_modules.metrics.systems import WITHOUT_UNKNOWN, EvalSet, Subsets, System
from lightning_modules.runs.job import without_authors
from lightning_modules.testing.scoring import PHRASE_TABLE
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import in_words
from sweeps.comparison.tables import Cell, Column, Table

ALIGNMENT = {"aer", "precision", "recall"}
ATTENTION = {*ALIGNMENT, "entropy", "distance", "coverage"}
KNOWN_WORDS = f"{WITHOUT_UNKNOWN}: the sentences without a word outside the vocabularies."
"""What the part of a test set without unknown words is."""
BASELINES = {
    PHRASE_TABLE: "phrase by phrase, from true word links that no system sees",
    NEAREST_COPY: "the target of the training pair whose source is most similar",
}
"""What the translations without a model are."""


def baselines_in_words(labels: Iterable[str]) -> str:
    """Return what the kinds of baselines with such labels are, in a list; empty without any."""
    known = list(labels)
    named = [
        f"{kind} ({words})"
        for kind, words in BASELINES.items()
        if any(label.startswith(kind) for label in known)
    ]
    return in_words(named) if named else ""


def baselines_note(labels: Iterable[str]) -> str:
    """Return the sentence of a table or a figure with baselines, which says what they are."""
    return f"Without a model: {baselines_in_words(labels)}."


def uncertainty(evaluation: Evaluation) -> str:
    """Return what brackets and ± mean in the tables of an evaluation; one seed has no ±."""
    said = "In brackets the 95% bootstrap interval over test sentences"
    several = any(len(system.outputs) > 1 for system in evaluation.systems)
    return f"{said}; after ± the standard deviation over seeds." if several else f"{said}."


def system_column(systems: Iterable[System], key: str = "system", title: str = "system") -> Column:
    """Return a column of systems: files have their names, readers see their labels."""
    return Column(key, title, labels={system.name: system.label for system in systems})


def score_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of scores on the whole test set."""
    alignment = [metric for metric in evaluation.metrics if metric.name in ATTENTION]
    others = [metric for metric in evaluation.metrics if metric not in alignment]
    yield scores(evaluation, "scores", "Scores", others)
    yield from subset_scores(
        evaluation,
        "scores_by_part",
        "Scores on parts of the test set",
        "part",
        lambda test: test.subsets,
    )
    if alignment:
        yield scores(evaluation, "attention_scores", "Attention", alignment)


def subset_scores(
    evaluation: Evaluation,
    name: str,
    title: str,
    grouped_by: str,
    find: Callable[[EvalSet], Subsets],
) -> Iterator[Table]:
    """Yield a table of translation metrics on the subsets that ``find`` finds; none without any."""
    metrics = [metric for metric in evaluation.metrics if isinstance(metric, TextMetric)]
    rows: list[list[Cell]] = []
    for group in evaluation.groups:
        subsets = {
            label: score_subset(group.systems, metrics, None, index, evaluation.draws)
            for label, index in find(group.systems[0].test).items()
        }
        rows += [
            [
                system.name,
                seeds(system),
                label,
                len(subset.index),
                *(subset.estimate(system.name, metric.name) for metric in metrics),
            ]
            for system in group.systems
            for label, subset in subsets.items()
        ]
    systems = system_column(evaluation.systems)
    columns = [systems, Column("seeds", "seed"), Column("group", grouped_by)]
    columns += [Column("sentences", "sentences", "count"), *map(_estimate_column, metrics)]
    names = [metric.name for metric in metrics]
    if rows:
        known = f" {KNOWN_WORDS}" if any(WITHOUT_UNKNOWN in row for row in rows) else ""
        note = f"{uncertainty(evaluation)}{known}"
        yield Table(name, title, columns, rows, origin(evaluation, *names), note)


def origin(evaluation: Evaluation, *metrics: str) -> dict[str, str | int]:
    """Return the settings that the numbers of a table with ``metrics`` depend on."""
    signed = {
        metric.name: signature
        for metric in evaluation.metrics
        if metric.name in metrics and (signature := evaluation.signature(metric))
    }
    signature = ", ".join(
        f"{name} {each}" if len(metrics) > 1 else each for name, each in signed.items()
    )
    steps = {
        output.attention_step
        for system in evaluation.systems
        for output in system.outputs
        if output.attention_step is not None and ALIGNMENT.intersection(metrics)
    }
    return {
        "test sentences": "/".join(map(str, evaluation.sentences(None))),
        **({"signature": signature} if signature else {}),
        **({"attention step": "/".join(sorted(steps))} if steps else {}),
        "resamples": evaluation.draws.count,
        "resampling seed": evaluation.draws.seed,
    }


def origin_in_words(origin: Mapping[str, str | int]) -> str:
    """Return where the numbers of a figure come from, for its caption."""
    about = "; ".join(f"{key} {value}" for key, value in origin.items())
    return f"{about[:1].upper()}{about[1:]}."


def seeds(system: System) -> str:
    """Return the seeds of a system as text: ``1, 2, 3``."""
    return ", ".join(str(output.seed) for output in system.outputs)


def named_seeds(evaluation: Evaluation, *metrics: str) -> Iterator[tuple[System, str | None]]:
    """Yield each system with its seeds, then the baselines that have ``metrics``, without seeds."""
    for system in evaluation.systems:
        yield system, seeds(system)
    for baseline in evaluation.baselines:
        if any(evaluation.estimate(baseline, None, metric) is not None for metric in metrics):
            yield baseline, None


def scores(evaluation: Evaluation, name: str, title: str, metrics: Sequence[Metric]) -> Table:
    """Return a table of metrics on the whole test set."""
    names = [metric.name for metric in metrics]
    shown = list(named_seeds(evaluation, *names))
    rows: list[list[Cell]] = [
        [
            system.name,
            seed,
            len(system.test.references),
            *(evaluation.estimate(system, None, metric) for metric in names),
        ]
        for system, seed in shown
    ]
    systems = system_column(system for system, _ in shown)
    columns = [systems, Column("seeds", "seed"), Column("sentences", "sentences", "count")]
    columns += [_estimate_column(metric) for metric in metrics]
    return Table(
        name,
        f"{title} on the whole test set",
        columns,
        rows,
        origin(evaluation, *names),
        _note(evaluation, shown),
        apart=_apart(evaluation),
    )


def main_tables(
    evaluation: Evaluation, setting: str = "", marks: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Table]:
    """Yield the short table of a paper; nothing without BLEU.

    It has BLEU on all sentences, and on the shortest and the longest groups with enough of them.
    ``setting`` says how the systems were trained, and what ``marks`` mean, which stand after the
    labels of some systems by name. Labels are without authors, whom a paper cites.
    """
    bleu = next((each for each in evaluation.metrics if each.name == "bleu"), None)
    if bleu is None:
        return
    enough = [each for each in evaluation.bounds if min(evaluation.sentences(each)) >= THIN]
    groups = list(dict.fromkeys([None, *enough[:1], *enough[-1:]]))
    shown = [system for system, _ in named_seeds(evaluation, bleu.name)]
    short = without_authors(system.label for system in shown)
    labels = {each.name: short[each.label] + marks.get(each.name, "") for each in shown}
    columns = [Column("system", "system", labels=labels)]
    sizes = []
    for each in groups:
        name = "all" if each is None else evaluation.scoring.bucket_name(each)
        columns.append(Column(name, name, "estimate", bleu.decimals, best=bleu.better))
        count = "/".join(f"{sentences:,}" for sentences in evaluation.sentences(each))
        sizes.append(f"{count} in all" if each is None else f"{count} of {name}")
    rows: list[list[Cell]] = [
        [system.name, *(evaluation.estimate(system, each, bleu.name) for each in groups)]
        for system in shown
    ]
    title = "BLEU on all test sentences, on the shortest and on the longest"
    parts = [f"Sentences: {in_words(sizes)}.", setting, uncertainty(evaluation)]
    parts += [_baselines_note(evaluation)] if len(shown) > len(evaluation.systems) else []
    note = " ".join(filter(None, parts))
    about, apart = origin(evaluation, bleu.name), _apart(evaluation)
    yield Table("main", title, columns, rows, about, note, apart=apart)


def _note(evaluation: Evaluation, shown: Sequence[tuple[System, str | None]]) -> str:
    said = uncertainty(evaluation)
    return f"{said} {_baselines_note(evaluation)}" if len(shown) > len(evaluation.systems) else said


def _baselines_note(evaluation: Evaluation) -> str:
    return baselines_note(each.label for each in evaluation.baselines)


def _apart(evaluation: Evaluation) -> Collection[str]:
    return {each.name for each in evaluation.baselines}


def _estimate_column(metric: Metric) -> Column:
    return Column(metric.name, metric.label, "estimate", metric.decimals, best=metric.better)


def by_length(evaluation: Evaluation, metric: Metric, of: str = "") -> Table:
    """Return a table of one metric in every length bucket, computed on the bucket's sentences.

    ``of`` names the test set that ``evaluation`` is about, if there are several.
    """
    bounds = evaluation.bounds
    shown = list(named_seeds(evaluation, metric.name))
    rows: list[list[Cell]] = [
        [system.name, seed, *(evaluation.estimate(system, each, metric.name) for each in bounds)]
        for system, seed in shown
    ]
    columns = [system_column(system for system, _ in shown), Column("seeds", "seed")]
    for each in bounds:
        counts = evaluation.sentences(each)
        thin = "*" if min(counts) < THIN else ""
        title = f"{each.label}{thin} (n = {'/'.join(map(str, counts))})"
        columns.append(Column(each.label, title, "estimate", metric.decimals, best=metric.better))
    marked = any("*" in column.title for column in columns)
    return Table(
        f"{metric.name}_by_length" + (f"_of_{of}" if of else ""),
        f"{metric.label} by {evaluation.length_axis}" + (f", {of}" if of else ""),
        columns,
        rows,
        origin(evaluation, metric.name),
        _note(evaluation, shown) + (f" * fewer than {THIN} sentences." if marked else ""),
        apart=_apart(evaluation),
    )


def trends(evaluation: Evaluation) -> Table:
    """Return a table of BLEU's slope over length, and where BLEU falls below 80% of its best."""
    rows = [_trend(evaluation.group(system), system) for system in evaluation.systems]
    columns = [
        system_column(evaluation.systems),
        Column("slope", "BLEU per ten more words", "estimate", 2),
        Column("falls_below", "falls below 80% of its best at", "number"),
        Column("longest", "mean length of the last bucket", "number"),
    ]
    return Table(
        "bleu_trend",
        "Where BLEU falls",
        columns,
        rows,
        origin(evaluation, "bleu"),
        "The slope is that of the least-squares line through the buckets, weighted by their "
        f"sentences; buckets with fewer than {THIN} sentences are left out. A dash before the mean "
        f"length of the last bucket: BLEU does not fall so far. {uncertainty(evaluation)}",
    )


def _trend(group: EvalGroup, system: System) -> list[Cell]:
    pairs = zip(group.buckets, group.subsets[1:], strict=True)
    used = [(bucket, subset) for bucket, subset in pairs if not subset.thin]
    buckets = [bucket for bucket, _ in used]
    if len(buckets) < 2:
        return [system.name, None, None, None]
    key = (system.name, "bleu")
    by_seed = np.stack([subset.scores[key] for _, subset in used])  # (buckets, seeds)
    resampled = np.stack([subset.resampled[key].mean(0) for _, subset in used])
    slopes = slope_per_ten(buckets, by_seed)
    slope = Estimate(
        float(slopes.mean()),
        *interval(slope_per_ten(buckets, resampled)),
        float(slopes.std(ddof=1)) if len(slopes) > 1 else None,
        tuple(map(float, slopes)),
    )
    means = [float(score) for score in by_seed.mean(1)]
    return [system.name, slope, falls_below(buckets, means), buckets[-1].mean_length]
