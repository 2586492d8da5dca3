"""Tables of significance tests between systems."""

from collections.abc import Iterator, Mapping

from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.statistics import METRICS, TRANSLATION, Metric
from lightning_modules.metrics.uncertainty.significance import compare_pairs, correct
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.score_tables import origin
from sweeps.evaluation.tables import Cell, Column, Table

SIGNIFICANT = 0.05


def significance_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield a table for each metric of sacreBLEU that has pairs of systems to test."""
    for name in TRANSLATION:
        table = _significance(evaluation, METRICS[name])
        if table.rows:
            yield table


def conclusions(evaluation: Evaluation, tables: Mapping[str, Table]) -> list[str]:
    """Return lines: how many pairs differ in BLEU on the whole test set, and which do not."""
    if all(len(group.systems) < 2 for group in evaluation.groups):
        return []
    if "bleu_significance" not in tables:
        return [f"No pair is tested: there are fewer than {THIN} sentences everywhere."]
    table = tables["bleu_significance"]
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    whole = [row for row in rows if row["lengths"] == "all"]
    lines = []
    for column, method in (
        ("p_bootstrap_holm", "paired bootstrap"),
        ("p_randomisation_holm", "approximate randomisation"),
    ):
        alike = [
            f"{row['first']} and {row['second']}"
            for row in whole
            if isinstance(p := row[column], float) and p >= SIGNIFICANT
        ]
        exceptions = f"; not {', nor '.join(alike)}" if alike else ""
        lines.append(
            f"BLEU differs in {len(whole) - len(alike)} of {len(whole)} pairs by {method} "
            f"(p < {SIGNIFICANT} after Holm's correction over {len(rows)} tests){exceptions}"
        )
    return lines


def _significance(evaluation: Evaluation, metric: Metric) -> Table:
    """Test every pair of systems, on the whole test set and in each bucket that is not thin."""
    tests = [
        test
        for group in evaluation.groups
        for test in compare_pairs(group.systems, group.subsets, metric.name, evaluation.draws)
    ]
    seed_counts = {system.name: len(system.outputs) for system in evaluation.systems}
    rows: list[list[Cell]] = [
        [
            corrected.test.first,
            corrected.test.second,
            f"{seed_counts[corrected.test.first]}, {seed_counts[corrected.test.second]}",
            corrected.test.subset,
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
        Column("seeds", "seeds"),
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
        _how_to_read(evaluation),
    )


def _how_to_read(evaluation: Evaluation) -> str:
    counts = {len(system.outputs) for system in evaluation.systems}
    text = (
        "Two-sided. The bootstrap, and the 95% interval in brackets, are over test sentences"
        f"{' and seeds' if max(counts) > 1 else ''}; the randomisation test exchanges sentences "
        "between the outputs as they are. Holm's correction is over all tests of this table, each "
        "method apart; p-values without it are of one test alone. sacreBLEU's own bootstrap test "
        "is there to compare with published values: it calls about 12% of equal systems different "
        "at 5%."
    )
    if min(counts) == 1 < max(counts):
        text += " Of a system with one seed, other trainings are not known."
    if 2 in counts:
        text += " Two seeds are few: about 9% of families of equal systems have a difference."
    if evaluation.draws.count > evaluation.scoring.resamples:
        text += (
            f" There are {evaluation.draws.count} resamples, not {evaluation.scoring.resamples}, "
            "so that each of so many tests can be significant."
        )
    return text
