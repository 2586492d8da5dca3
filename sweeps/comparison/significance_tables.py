"""Significance tests between all pairs of systems, corrected, and which systems differ by them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from datamodules.sequences import cores
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.pair_tests import PairTest, compare_pairs, correct_by_holm
from lightning_modules.metrics.resampling import ENOUGH
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.numbers import format_p, in_words, p_floor, p_statement
from sweeps.comparison.score_tables import origin, system_column
from sweeps.comparison.tables import Cell, Column, Table

SIGNIFICANT = 0.05
DAGGER = "†"  # mark of a pair about which bootstrap and randomisation disagree
WHY_THEY_DISAGREE = (
    f"{DAGGER} Only one of bootstrap and randomisation finds a difference. They ask different "
    "questions: the bootstrap draws other test sentences, and of several seeds other runs; "
    "the randomisation test exchanges the translations of these runs between the systems. "
    "Take such a pair as not told apart."
)


def differ(test: PairTest) -> bool:
    """Return whether bootstrap and randomisation both find a difference."""
    return max(test.p_bootstrap_holm, test.p_randomisation_holm) < SIGNIFICANT


def disagree(test: PairTest) -> bool:
    """Return whether only one of bootstrap and randomisation finds a difference."""
    return (test.p_bootstrap_holm < SIGNIFICANT) != (test.p_randomisation_holm < SIGNIFICANT)


def leads(test: PairTest) -> bool:
    """Return whether the first system is shown to be better."""
    return differ(test) and test.difference.value > 0


@dataclass(frozen=True)
class SignificanceTests:
    """Tests of one metric: all pairs of systems, on the whole test set and in each bucket."""

    metric: Metric
    tests: Sequence[PairTest]  # tests with their p-values after Holm's correction over all of them
    resamples: int  # most resamples of a test

    @cached_property
    def by_pair(self) -> dict[tuple[str, str, str], PairTest]:
        """The tests by first and second system and subset, in both directions."""
        turned = [
            replace(each, first=each.second, second=each.first, difference=-each.difference)
            for each in self.tests
        ]
        return {(each.first, each.second, each.subset): each for each in (*self.tests, *turned)}

    @property
    def floor(self) -> float:
        """The least p-value that the resamples can give after the correction."""
        return p_floor(self.resamples, len(self.tests))

    @property
    def why_no_less(self) -> str:
        """Explanation of the p-values that are shown as at most ``floor``."""
        return (
            f"No p-value is less than {format_p(p_floor(self.resamples))}, as there are at most "
            f"{self.resamples:,} resamples, nor after the correction for {len(self.tests)} tests "
            f"less than {format_p(self.floor)}: more resamples could make such a p smaller."
        )

    @property
    def why_they_disagree(self) -> str:
        """Explanation of bootstrap and randomisation that disagree; empty where all agree."""
        return WHY_THEY_DISAGREE if any(map(disagree, self.tests)) else ""

    @property
    def decimals(self) -> int:
        """Number of decimals of a difference."""
        return max(2, self.metric.decimals)


def significance_tests(evaluation: Evaluation) -> dict[str, SignificanceTests]:
    """Test each ``tested`` metric that has pairs of systems; the keys are names of metrics.

    A bucket with too few sentences is not tested.
    """
    metrics = [metric for metric in evaluation.metrics if metric.tested]
    with ThreadPoolExecutor(cores()) as pool:  # NumPy computes without Python's lock
        tested = list(pool.map(partial(_family, evaluation), metrics))
    return {tests.metric.name: tests for tests in tested if tests.tests}


def _family(evaluation: Evaluation, metric: Metric) -> SignificanceTests:
    tests = [
        test
        for group in evaluation.groups
        for test in compare_pairs(group.systems, group.subsets, metric, evaluation.test_draws)
    ]
    return SignificanceTests(metric, correct_by_holm(tests), evaluation.test_draws.count)


def conclusions(evaluation: Evaluation, bleu: SignificanceTests | None) -> list[str]:
    """Return lines: how many pairs differ in BLEU on the whole test set, and which do not."""
    if all(len(group.systems) < 2 for group in evaluation.groups):
        return []
    if bleu is None:
        return [f"No pair is tested: there are fewer than {THIN} sentences everywhere."]
    once = any(len(system.outputs) == 1 for system in evaluation.systems)
    what = "BLEU of these translations" if once else "BLEU"
    return list(_conclusions(bleu, evaluation.labels, what))


def _conclusions(bleu: SignificanceTests, labels: Mapping[str, str], what: str) -> Iterator[str]:
    whole = [each for each in bleu.tests if each.subset == "all"]
    methods: dict[tuple[str, ...], list[str]] = {}  # those that find the same pairs, by the others
    for method, p_values in (
        ("paired bootstrap", [each.p_bootstrap_holm for each in whole]),
        ("approximate randomisation", [each.p_randomisation_holm for each in whole]),
    ):
        alike = tuple(
            f"“{labels[each.first]}” and “{labels[each.second]}”"
            for each, p in zip(whole, p_values, strict=True)
            if p >= SIGNIFICANT
        )
        methods.setdefault(alike, []).append(method)
    for alike, by in methods.items():
        exceptions = f"; not {', nor '.join(alike)}" if alike else ""
        yield (
            f"{what} differs in {len(whole) - len(alike)} of {len(whole)} pairs by {in_words(by)} "
            f"(p < {SIGNIFICANT} after Holm's correction over {len(bleu.tests)} tests){exceptions}"
        )
    for each in filter(disagree, whole):
        yield (
            f"“{labels[each.first]}” and “{labels[each.second]}”: bootstrap "
            f"({p_statement(each.p_bootstrap_holm, bleu.floor)}) and randomisation "
            f"({p_statement(each.p_randomisation_holm, bleu.floor)}) disagree {DAGGER}"
        )
    if any(map(disagree, whole)):
        yield WHY_THEY_DISAGREE


class Parts(NamedTuple):
    """Names of the parts of the data that are tested, and of the units in a part."""

    subset: str  # title of the column that names the tested part of the data
    counted: str  # name of the units that the tests resample and exchange


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
    """Return a table with a row for each test; ``ending`` ends the name of its files.

    ``asked`` is the number of resamples that the configuration asks for.
    """
    seeds = {system.name: len(system.outputs) for system in systems}
    return Table(
        f"{tests.metric.name}_significance{ending}",
        f"Differences in {tests.metric.label}: first less second",
        _columns(tests, systems, parts, asked),
        [_row(each, seeds) for each in tests.tests],
        {**origin, "resamples": tests.resamples, "tests": len(tests.tests)},
        _how_to_read(tests, {*seeds.values()}, parts.counted, asked),
    )


def _columns(
    tests: SignificanceTests, systems: Sequence[System], parts: Parts, asked: int
) -> list[Column]:
    alone, corrected = p_floor(tests.resamples), tests.floor
    return [
        system_column(systems, "first", "first"),
        system_column(systems, "second", "second"),
        Column("seeds", "seeds"),
        Column(parts.subset, parts.subset),
        Column(parts.counted.replace(" ", "_"), parts.counted, "count"),
        Column("difference", f"difference in {tests.metric.label}", "estimate", tests.decimals),
        Column("p_bootstrap", "p, bootstrap", "p", floor=alone),
        Column("p_bootstrap_holm", "after Holm", "p", floor=corrected),
        Column("p_randomisation", "p, randomisation", "p", floor=alone),
        Column("p_randomisation_holm", "after Holm", "p", floor=corrected),
        Column("p_sacrebleu_bs", "p, sacreBLEU --paired-bs", "p", floor=p_floor(asked)),
        Column("outcome", "outcome at 5%"),
    ]


def _row(test: PairTest, seeds: Mapping[str, int]) -> list[Cell]:
    outcome = f"methods disagree {DAGGER}"
    if not disagree(test):
        outcome = "differ" if differ(test) else "not told apart"
    return [
        test.first,
        test.second,
        f"{seeds[test.first]}, {seeds[test.second]}",
        test.subset,
        test.sentences,
        test.difference,
        test.p_bootstrap,
        test.p_bootstrap_holm,
        test.p_randomisation,
        test.p_randomisation_holm,
        test.p_moses,
        outcome,
    ]


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
        text += " Of a system with one seed, other runs are not known."
    if 2 in counts:
        text += " Two seeds are few: about 9% of families of equal systems have a difference."
    if tests.resamples != asked:
        text += (
            f" A small p-value is of up to {tests.resamples:,} resamples, not {asked:,}, so that "
            f"each of so many tests can be significant; a test ends once {ENOUGH} of at least "
            f"{asked:,} resamples are as far as its difference, or once none can be."
        )
    return text
