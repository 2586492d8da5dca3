"""Scores of systems on groups of contrastive pairs, with intervals over source sentences."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.contrast import Choices, RightChoices
from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.metrics.uncertainty.bootstrap_scores import (
    Estimate,
    ScoredSubset,
    score_subset,
)
from lightning_modules.metrics.uncertainty.resampling import Resamples

METRIC = RightChoices()


class ScoredGroup(NamedTuple):
    """Scores of systems on a group of pairs."""

    kind: str
    name: str
    pairs: int
    systems: Sequence[System]
    """The systems with their counts for each source sentence of the group."""
    subset: ScoredSubset
    """Scores on all these source sentences."""

    def estimate(self, system: str) -> Estimate | None:
        """Return a system's share of right choices, in percent."""
        return self.subset.estimate(system, METRIC.name)


def score_groups(
    systems: Mapping[str, Mapping[int, Choices]], resamples: Resamples
) -> list[ScoredGroup]:
    """Score the choices of systems, by name and seed, on each group of the same pairs.

    Pairs of the same source sentence are resampled together. Group k is drawn with seed + k.
    """
    first = next(iter(next(iter(systems.values())).values()))
    scored = []
    for number, (kind, name, chosen) in enumerate(first.groups):
        if not chosen.any():
            continue
        members = [
            System(each, TestSet([]), [_output(s, c, chosen) for s, c in by_seed.items()])
            for each, by_seed in systems.items()
        ]
        sources = np.arange(len(np.unique(first.source[chosen])))
        draws = Resamples(resamples.count, resamples.seed + number)
        subset = score_subset(members, [METRIC], None, sources, draws)
        scored.append(ScoredGroup(kind, name, int(chosen.sum()), members, subset))
    return scored


def _output(seed: int, choices: Choices, chosen: NDArray[np.bool_]) -> Output:
    return Output(seed, [], {METRIC.statistics: choices.counts(chosen)}, metrics=())
