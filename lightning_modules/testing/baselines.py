"""Baselines: translations that need no model, to show what a model is needed for.

The phrase table knows words and short phrases, but neither order nor context beyond a phrase. The
copy knows nothing. Baselines are no systems: they have no seeds, and nothing is tested on them.
"""

from collections.abc import Iterable, Sequence

from lightning_modules.metrics.chosen_metrics import translation_statistics
from lightning_modules.metrics.curves import curve_points
from lightning_modules.metrics.metric import Metric, TextMetric
from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.metrics.uncertainty.bootstrap_scores import ScoredSubset
from lightning_modules.runs.schema import Baseline

PHRASE_TABLE, COPY = "phrase table", "copy"
MEANING = (
    "Baselines without a model: the phrase table translates from left to right by the phrases of "
    "up to four words that the gold links of the training text give; the copy is the source."
)
COUNTED = {"bleu", "exact"}
"""Metrics of baselines. Others are left out: TER takes minutes for such translations."""


def baseline(
    name: str, test: TestSet, hypotheses: Sequence[str], metrics: Iterable[Metric], label: str = ""
) -> System:
    """Return a baseline in the form of a system; of ``metrics``, those in ``COUNTED`` are counted.

    The seed of its output means nothing.
    """
    chosen = [each for each in metrics if isinstance(each, TextMetric) and each.name in COUNTED]
    statistics = translation_statistics(chosen, test.sources, hypotheses, test.references)
    return System(name, test, [Output(0, hypotheses, statistics, chosen)], label)


def baselines_of_run(
    test: TestSet, phrase_table: Sequence[str] | None, metrics: Sequence[Metric]
) -> list[System]:
    """Return phrase table and copy; none without translations of the phrase table."""
    if phrase_table is None or test.sources is None:
        return []
    translations = {PHRASE_TABLE: phrase_table, COPY: test.sources}
    return [baseline(name, test, lines, metrics) for name, lines in translations.items()]


def baseline_scores(system: System, subsets: Sequence[ScoredSubset]) -> Baseline:
    """Return the scores of a baseline on ``subsets``: the whole test set, then length buckets."""
    whole = subsets[0].scores
    return Baseline(
        scores={
            metric.name: float(whole[system.name, metric.name][0])
            for metric in system.outputs[0].metrics
        },
        by_length={point.bounds.label: point.scores for point in curve_points([system], subsets)},
    )
