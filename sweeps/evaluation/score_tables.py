"""Scores, scores by length, trends over length, and what differences mean."""

from collections.abc import Iterator

import numpy as np

from lightning_modules.metrics.lengths import THIN, falls_below, slope_per_ten
from lightning_modules.metrics.resampling import interval
from lightning_modules.metrics.scopes import Estimate
from lightning_modules.metrics.significance import compare_pairs, correct
from lightning_modules.metrics.statistics import METRICS, TRANSLATION, Metric, signatures
from lightning_modules.metrics.systems import System
from sweeps.evaluation.evaluation import Evaluation, Group
from sweeps.evaluation.tables import Cell, Column, Table

SIGNIFICANT = 0.05
SYSTEM = Column("system", "system")
UNCERTAINTY = (
    "In brackets the 95% bootstrap interval over test sentences; after ± the standard deviation "
    "over seeds."
)


def score_tables(evaluation: Evaluation) -> Iterator[Table]:
    """The tables that every evaluation has."""
    yield scores(evaluation)
    for metric in evaluation.metrics:
        yield by_length(evaluation, metric)
    yield trends(evaluation)
    for name in TRANSLATION:
        table = significance(evaluation, METRICS[name])
        if table.rows:
            yield table


def origin(evaluation: Evaluation, *metrics: str) -> dict[str, str | int]:
    """What the numbers of a table depend on."""
    signature = ", ".join(
        f"{name} {text}" if len(metrics) > 1 else text
        for name, text in signatures().items()
        if name in metrics
    )
    scoring = evaluation.scoring
    counted = {"test sentences": "/".join(map(str, evaluation.sentences(None)))}
    drawn = {"resamples": scoring.resamples, "resampling seed": scoring.seed}
    return counted | ({"signature": signature} if signature else {}) | drawn


def seeds(system: System) -> str:
    """``1, 2, 3``."""
    return ", ".join(str(output.seed) for output in system.outputs)


def scores(evaluation: Evaluation) -> Table:
    """Every metric on the whole test set."""
    metrics = evaluation.metrics
    rows: list[list[Cell]] = [
        [
            system.name,
            seeds(system),
            len(system.test.references),
            *(evaluation.estimate(system, None, metric.name) for metric in metrics),
        ]
        for system in evaluation.systems
    ]
    columns = [SYSTEM, Column("seeds", "seed"), Column("sentences", "sentences", "count")]
    columns += [_estimate_column(metric) for metric in metrics]
    return Table(
        "scores",
        "Scores on the whole test set",
        columns,
        rows,
        origin(evaluation, *TRANSLATION),
        UNCERTAINTY,
    )


def _estimate_column(metric: Metric) -> Column:
    return Column(metric.name, metric.label, "estimate", metric.decimals)


def by_length(evaluation: Evaluation, metric: Metric) -> Table:
    """One metric in every length bucket, computed afresh over its sentences."""
    bounds = evaluation.bounds
    rows: list[list[Cell]] = [
        [
            system.name,
            seeds(system),
            *(evaluation.estimate(system, each, metric.name) for each in bounds),
        ]
        for system in evaluation.systems
    ]
    columns = [SYSTEM, Column("seeds", "seed")]
    for each in bounds:
        counts = evaluation.sentences(each)
        thin = "*" if min(counts) < THIN else ""
        title = f"{each.label}{thin} (n = {'/'.join(map(str, counts))})"
        columns.append(Column(each.label, title, "estimate", metric.decimals))
    marked = any("*" in column.title for column in columns)
    return Table(
        f"{metric.name}_by_length",
        f"{metric.label} by {evaluation.scoring.length_axis}",
        columns,
        rows,
        origin(evaluation, metric.name),
        UNCERTAINTY + (f" * fewer than {THIN} sentences." if marked else ""),
    )


def trends(evaluation: Evaluation) -> Table:
    """How BLEU moves with length: slope, and where it falls below 80% of its best."""
    rows = [_trend(evaluation.group(system), system) for system in evaluation.systems]
    columns = [
        SYSTEM,
        Column("slope", "BLEU per ten more words", "estimate", 2),
        Column("falls_below", "falls below 80% of its best at", "number"),
        Column("longest", "mean length of the last bucket", "number"),
    ]
    return Table(
        "bleu_trend",
        f"BLEU and {evaluation.scoring.length_axis}",
        columns,
        rows,
        origin(evaluation, "bleu"),
        "The slope is that of the least-squares line through the buckets, weighted by their "
        f"sentences; buckets with fewer than {THIN} sentences are left out. {UNCERTAINTY}",
    )


def _trend(group: Group, system: System) -> list[Cell]:
    pairs = zip(group.buckets, group.scopes[1:], strict=True)
    solid = [(bucket, scope) for bucket, scope in pairs if not scope.thin]
    buckets = [bucket for bucket, _ in solid]
    if len(buckets) < 2:
        return [system.name, None, None, None]
    key = (system.name, "bleu")
    by_seed = np.stack([scope.scores[key] for _, scope in solid])  # (buckets, seeds)
    resampled = np.stack([scope.resampled[key].mean(0) for _, scope in solid])
    slopes = slope_per_ten(buckets, by_seed)
    slope = Estimate(
        float(slopes.mean()),
        *interval(slope_per_ten(buckets, resampled)),
        float(slopes.std(ddof=1)) if len(slopes) > 1 else None,
        tuple(map(float, slopes)),
    )
    means = [float(score) for score in by_seed.mean(1)]
    return [system.name, slope, falls_below(buckets, means), buckets[-1].mean_length]


def significance(evaluation: Evaluation, metric: Metric) -> Table:
    """Every pair of systems, on the whole test set and in each bucket that is not thin."""
    tests = [
        test
        for group in evaluation.groups
        for test in compare_pairs(
            group.systems, group.scopes, metric.name, evaluation.scoring.draws
        )
    ]
    rows: list[list[Cell]] = [
        [
            corrected.test.first,
            corrected.test.second,
            corrected.test.scope,
            corrected.test.sentences,
            corrected.test.difference,
            corrected.test.p_bootstrap,
            corrected.p_bootstrap,
            corrected.test.p_randomisation,
            corrected.p_randomisation,
            corrected.test.p_moses,
        ]
        for corrected in correct(tests)
    ]
    columns = [
        Column("first", "first"),
        Column("second", "second"),
        Column("lengths", "lengths"),
        Column("sentences", "sentences", "count"),
        Column("difference", f"difference in {metric.label}", "estimate", max(2, metric.decimals)),
        Column("p_bootstrap", "p, bootstrap", "p"),
        Column("p_bootstrap_holm", "after Holm", "p"),
        Column("p_randomisation", "p, randomisation", "p"),
        Column("p_randomisation_holm", "after Holm", "p"),
        Column("p_sacrebleu_bs", "p, sacreBLEU --paired-bs", "p"),
    ]
    return Table(
        f"{metric.name}_significance",
        f"Differences in {metric.label}: first less second",
        columns,
        rows,
        origin(evaluation, metric.name) | {"tests": len(rows)},
        _how_to_read(evaluation, len(rows)),
    )


def _how_to_read(evaluation: Evaluation, tests: int) -> str:
    several = any(len(system.outputs) > 1 for system in evaluation.systems)
    over = "sentences and seeds" if several else "test sentences"
    text = (
        f"Two-sided. The bootstrap, and the 95% interval in brackets, are over {over}; the "
        "randomisation test exchanges sentences between the outputs as they are. Holm's correction "
        "is over all tests of this table, each method apart; p-values without it are of one test "
        "alone. sacreBLEU's own bootstrap test is there to compare with published values: it calls "
        "about 10% of equal systems different at 5%."
    )
    least = tests / (evaluation.scoring.resamples + 1)
    if least > SIGNIFICANT:
        text += (
            f" With {evaluation.scoring.resamples} resamples no test of so many can be significant "
            f"after correction: raise scoring.resamples above {20 * tests}."
        )
    return text
