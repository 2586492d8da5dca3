"""BLEU on each of several named test sets that one run translated."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.metrics.text_metrics import Bleu
from lightning_modules.testing.scoring_settings import Scoring
from sweeps.evaluation.evaluation import Evaluation, evaluate


def evaluate_sets(systems: Sequence[System], scoring: Scoring) -> dict[str, Evaluation]:
    """Return the evaluation of BLEU on each named test set, baselines included, by its name.

    Nothing for systems whose test sets have no parts. Lengths are cut as on whole test sets.
    """
    names = dict.fromkeys(name for system in systems for name in system.test.named_sets)
    return {
        name: evaluate(
            [
                _restricted(system, system.test.named_sets[name])
                for system in systems
                if name in system.test.named_sets
            ],
            scoring,
        )
        for name in names
    }


def _restricted(system: System, index: NDArray[np.int64]) -> System:
    """Return a system on the sentences ``index`` of its test set, with the counts of BLEU alone."""
    test = system.test
    sources = None if test.sources is None else _chosen(test.sources, index)
    outputs = [_restricted_output(output, index) for output in system.outputs]
    chosen = TestSet(_chosen(test.references, index), sources)
    return System(system.name, chosen, outputs, system.label)


def _restricted_output(output: Output, index: NDArray[np.int64]) -> Output:
    bleu, table = Bleu(), output.phrase_table
    return Output(
        seed=output.seed,
        hypotheses=_chosen(output.hypotheses, index),
        statistics={bleu.statistics: output.statistics[bleu.statistics][index]},
        metrics=[bleu],
        phrase_table=None if table is None else _chosen(table, index),
    )


def _chosen(lines: Sequence[str], index: NDArray[np.int64]) -> list[str]:
    return [lines[number] for number in index]
