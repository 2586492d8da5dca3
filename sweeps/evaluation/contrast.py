"""Choices of systems between contrastive pairs: scores by group of pairs, and tests."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lightning_modules.metrics.contrast import ALL, Choices
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.contrast_scores import METRIC, ScoredGroup, score_groups
from lightning_modules.metrics.uncertainty.resampling import Resamples
from lightning_modules.metrics.uncertainty.significance import Test, compare_pairs, correct
from sweeps.evaluation.evaluation import Evaluation, enough_draws
from sweeps.evaluation.significance import SignificanceTests


@dataclass(frozen=True, eq=False)
class Contrast:
    """Systems that chose between the translations of the same pairs."""

    systems: list[System]
    groups: list[ScoredGroup]
    tests: SignificanceTests
    """Tests of all pairs of systems on every group but those of a single distance."""
    draws: Resamples

    def of_kind(self, *kinds: str) -> list[ScoredGroup]:
        """Return the groups of some kinds."""
        return [group for group in self.groups if group.kind in kinds]


def contrasts(evaluation: Evaluation) -> list[Contrast]:
    """Score and test the systems of each test set that chose between the same pairs."""
    return [
        _contrast(members, evaluation.draws)
        for group in evaluation.groups
        for members in _by_pairs(group.systems)
    ]


def title_of(group: ScoredGroup) -> str:
    """Return the name of a group for readers: ``negation control``, ``distance 1–5``, ``all``."""
    name = group.name.replace("_", " ")
    return f"distance {name}" if group.kind.startswith("distance") else name


def _contrast(systems: list[System], draws: Resamples) -> Contrast:
    choices = {system.name: _choices(system) for system in systems}
    tested = sum(group.kind != "distance" for group in _first(systems).groups)
    draws = enough_draws(draws, tested * math.comb(len(systems), 2))
    groups = score_groups(choices, draws)
    tests = [test for group in groups if group.kind != "distance" for test in _tests(group, draws)]
    significance = SignificanceTests(METRIC, correct(tests), draws.count)
    return Contrast(systems, groups, significance, draws)


def _tests(group: ScoredGroup, draws: Resamples) -> Iterator[Test]:
    title = "all pairs" if group.kind == ALL else title_of(group)
    for test in compare_pairs(group.systems, [group.subset], METRIC, draws):
        yield replace(test, subset=title)


def _by_pairs(systems: Iterable[System]) -> list[list[System]]:
    """Group the systems whose seeds all chose between the same pairs."""
    groups: list[list[System]] = []
    for system in systems:
        chosen = [output.contrast for output in system.outputs if output.contrast is not None]
        if len(chosen) < len(system.outputs) or not all(map(chosen[0].on_pairs_of, chosen)):
            continue
        for group in groups:
            if _first(group).on_pairs_of(chosen[0]):
                group.append(system)
                break
        else:
            groups.append([system])
    return groups


def _choices(system: System) -> dict[int, Choices]:
    return {o.seed: o.contrast for o in system.outputs if o.contrast is not None}


def _first(systems: Sequence[System]) -> Choices:
    choices = systems[0].outputs[0].contrast
    assert choices is not None
    return choices
