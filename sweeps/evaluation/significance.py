"""Significance tests between all pairs of systems, corrected, and which systems differ by them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.uncertainty.significance import Corrected, compare_pairs, correct
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.numbers import p_floor, p_statement, shown_p

SIGNIFICANT = 0.05
DAGGER = "†"
"""Mark of a pair about which bootstrap and randomisation disagree."""
WHY_THEY_DISAGREE = (
    f"{DAGGER} Only one of bootstrap and randomisation finds a difference. They ask different "
    "questions: the bootstrap draws other test sentences, and of several seeds other trainings; "
    "the randomisation test exchanges the translations of these trainings between the systems. "
    "Take such a pair as not told apart."
)


def differ(corrected: Corrected) -> bool:
    """Return whether bootstrap and randomisation both find a difference."""
    return max(corrected.p_bootstrap, corrected.p_randomisation) < SIGNIFICANT


def disagree(corrected: Corrected) -> bool:
    """Return whether only one of bootstrap and randomisation finds a difference."""
    return (corrected.p_bootstrap < SIGNIFICANT) != (corrected.p_randomisation < SIGNIFICANT)


@dataclass(frozen=True)
class SignificanceTests:
    """Tests of one metric: all pairs of systems, on the whole test set and in each bucket."""

    metric: Metric
    tests: Sequence[Corrected]
    """Tests with their p-values after Holm's correction over all of them."""
    resamples: int
    """Number of resamples of each test."""

    @property
    def floor(self) -> float:
        """The least p-value that the resamples can give after the correction."""
        return p_floor(self.resamples, len(self.tests))

    @property
    def why_no_less(self) -> str:
        """Explanation of the p-values that are shown as less than ``floor``."""
        return (
            f"No p-value is less than {shown_p(p_floor(self.resamples))}, as there are "
            f"{self.resamples:,} resamples, nor after the correction for {len(self.tests)} tests "
            f"less than {shown_p(self.floor)}: more resamples could make a p at this floor smaller."
        )

    @property
    def why_they_disagree(self) -> str:
        """Explanation of bootstrap and randomisation that disagree; empty where all agree."""
        return WHY_THEY_DISAGREE if any(map(disagree, self.tests)) else ""

    @property
    def decimals(self) -> int:
        """Number of decimals of a difference."""
        return max(2, self.metric.decimals)

    @property
    def whole(self) -> list[Corrected]:
        """The tests on the whole test set."""
        return [each for each in self.tests if each.test.subset == "all"]


def significance_tests(evaluation: Evaluation) -> dict[str, SignificanceTests]:
    """Test each ``tested`` metric that has pairs of systems; the keys are names of metrics.

    A bucket with too few sentences is not tested.
    """
    metrics = [metric for metric in evaluation.metrics if metric.tested]
    tested = {metric.name: _tests(evaluation, metric) for metric in metrics}
    return {name: tests for name, tests in tested.items() if tests.tests}


def _tests(evaluation: Evaluation, metric: Metric) -> SignificanceTests:
    tests = [
        test
        for group in evaluation.groups
        for test in compare_pairs(group.systems, group.subsets, metric, evaluation.draws)
    ]
    return SignificanceTests(metric, correct(tests), evaluation.draws.count)


def conclusions(evaluation: Evaluation, bleu: SignificanceTests | None) -> list[str]:
    """Return lines: how many pairs differ in BLEU on the whole test set, and which do not."""
    if all(len(group.systems) < 2 for group in evaluation.groups):
        return []
    if bleu is None:
        return [f"No pair is tested: there are fewer than {THIN} sentences everywhere."]
    return list(_conclusions(bleu, evaluation.labels))


def _conclusions(bleu: SignificanceTests, labels: Mapping[str, str]) -> Iterator[str]:
    whole = bleu.whole
    for method, p_values in (
        ("paired bootstrap", [each.p_bootstrap for each in whole]),
        ("approximate randomisation", [each.p_randomisation for each in whole]),
    ):
        alike = [
            f"{labels[each.test.first]} and {labels[each.test.second]}"
            for each, p in zip(whole, p_values, strict=True)
            if p >= SIGNIFICANT
        ]
        exceptions = f"; not {', nor '.join(alike)}" if alike else ""
        yield (
            f"BLEU differs in {len(whole) - len(alike)} of {len(whole)} pairs by {method} "
            f"(p < {SIGNIFICANT} after Holm's correction over {len(bleu.tests)} tests){exceptions}"
        )
    for each in filter(disagree, whole):
        yield (
            f"{labels[each.test.first]} and {labels[each.test.second]}: bootstrap "
            f"({p_statement(each.p_bootstrap, bleu.floor)}) and randomisation "
            f"({p_statement(each.p_randomisation, bleu.floor)}) disagree {DAGGER}"
        )
    if any(map(disagree, whole)):
        yield WHY_THEY_DISAGREE
