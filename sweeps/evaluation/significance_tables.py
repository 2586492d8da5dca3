"""Tables of significance tests between systems."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.significance import Corrected
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.numbers import p_floor
from sweeps.evaluation.score_tables import origin, system_column
from sweeps.evaluation.significance import DAGGER, SIGNIFICANT, SignificanceTests, disagree
from sweeps.evaluation.tables import Cell, Column, Table


class Parts(NamedTuple):
    """Names of the parts of the data that are tested, and of the units in a part."""

    subset: str
    """Title of the column that names the tested part of the data."""
    counted: str
    """Name of the units that the tests resample and exchange."""


SENTENCES = Parts("lengths", "sentences")


def significance_table(evaluation: Evaluation, tests: SignificanceTests) -> Table:
    """Return a table with a row for each test of one metric of translations."""
    about, asked = origin(evaluation, tests.metric.name), evaluation.scoring.resamples
    return table_of_tests(tests, evaluation.systems, SENTENCES, about, asked)


def table_of_tests(
    tests: SignificanceTests,
    systems: Sequence[System],
    parts: Parts,
    origin: Mapping[str, str | int],
    asked: int,
    ending: str = "",
) -> Table:
    """Return a table with a row for each test.

    Args:
        tests: the tests of one metric.
        systems: the tested systems.
        parts: names of what was tested.
        origin: settings that the numbers depend on, ``resamples`` among them.
        asked: number of resamples that the configuration asks for.
        ending: end of the name of the table's files.
    """
    metric = tests.metric
    seed_counts = {system.name: len(system.outputs) for system in systems}
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
            _outcome(corrected),
        ]
        for corrected in tests.tests
    ]
    alone, corrected = p_floor(tests.resamples), tests.floor
    columns = [
        system_column(systems, "first", "first"),
        system_column(systems, "second", "second"),
        Column("seeds", "seeds"),
        Column(parts.subset, parts.subset),
        Column(parts.counted.replace(" ", "_"), parts.counted, "count"),
        Column("difference", f"difference in {metric.label}", "estimate", tests.decimals),
        Column("p_bootstrap", "p, bootstrap", "p", floor=alone),
        Column("p_bootstrap_holm", "after Holm", "p", floor=corrected),
        Column("p_randomisation", "p, randomisation", "p", floor=alone),
        Column("p_randomisation_holm", "after Holm", "p", floor=corrected),
        Column("p_sacrebleu_bs", "p, sacreBLEU --paired-bs", "p", floor=alone),
        Column("outcome", "outcome at 5%"),
    ]
    return Table(
        f"{metric.name}_significance{ending}",
        f"Differences in {metric.label}: first less second",
        columns,
        rows,
        {**origin, "tests": len(rows)},
        _how_to_read(tests, {*seed_counts.values()}, parts.counted, asked),
    )


def _outcome(corrected: Corrected) -> str:
    if disagree(corrected):
        return f"methods disagree {DAGGER}"
    return "differ" if corrected.p_bootstrap < SIGNIFICANT else "not told apart"


def _how_to_read(
    tests: SignificanceTests, counts: Collection[int], counted: str, asked: int
) -> str:
    text = (
        f"Two-sided. The bootstrap, and the 95% interval in brackets, are over {counted}"
        f"{' and seeds' if max(counts) > 1 else ''}; the randomisation test exchanges {counted} "
        "between the outputs as they are. Holm's correction is over all tests of this table, each "
        "method apart; p-values without it are of one test alone. sacreBLEU's own bootstrap test "
        "is there to compare with published values: it calls about 12% of equal systems different "
        f"at 5%. {tests.why_no_less}"
    )
    if tests.why_they_disagree:
        text += f" {tests.why_they_disagree}"
    if min(counts) == 1 < max(counts):
        text += " Of a system with one seed, other trainings are not known."
    if 2 in counts:
        text += " Two seeds are few: about 9% of families of equal systems have a difference."
    if tests.resamples != asked:
        text += (
            f" There are {tests.resamples:,} resamples, not {asked:,}, "
            "so that each of so many tests can be significant."
        )
    return text
