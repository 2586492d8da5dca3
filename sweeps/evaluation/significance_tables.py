"""Tables of significance tests between systems."""

from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.score_tables import origin
from sweeps.evaluation.significance import SignificanceTests
from sweeps.evaluation.tables import Cell, Column, Table


def significance_table(evaluation: Evaluation, tests: SignificanceTests) -> Table:
    """Return a table with a row for each test of one metric."""
    metric = tests.metric
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
        for corrected in tests.tests
    ]
    columns = [
        Column("first", "first"),
        Column("second", "second"),
        Column("seeds", "seeds"),
        Column("lengths", "lengths"),
        Column("sentences", "sentences", "count"),
        Column("difference", f"difference in {metric.label}", "estimate", tests.decimals),
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
