"""Choices of systems between contrastive pairs: scores by group of pairs, and tests."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lightning_modules.metrics.bootstrap import RIGHT_CHOICES, ScoredGroup, score_groups
from lightning_modules.metrics.contrast_choices import ALL, Choices
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.pair_tests import PairTest, compare_pairs, correct
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import Evaluation, enough_draws
from sweeps.comparison.score_tables import seeds, system_column
from sweeps.comparison.significance_tables import Parts, SignificanceTests, table_of_tests
from sweeps.comparison.tables import Cell, Column, Table


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
    significance = SignificanceTests(RIGHT_CHOICES, correct(tests), draws.count)
    return Contrast(systems, groups, significance, draws)


def _tests(group: ScoredGroup, draws: Resamples) -> Iterator[PairTest]:
    title = "all pairs" if group.kind == ALL else title_of(group)
    for test in compare_pairs(group.systems, [group.subset], RIGHT_CHOICES, draws):
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


BY_DISTANCE, BY_CATEGORY = "contrast_by_distance", "contrast_by_category"
PAIRS = Parts("pairs", "source sentences")
NOTE = (
    "Share of pairs in which a system finds the right translation more probable than the wrong "
    "one; 50% is chance where both have the same number of words. In brackets the 95% bootstrap "
    "interval over source sentences; after ± the standard deviation over seeds."
)


def contrast_tables(evaluation: Evaluation, contrast: Contrast, ending: str) -> Iterator[Table]:
    """Yield the tables of one set of pairs; ``ending`` ends the names of their files."""
    ranges = contrast.of_kind("all", "distances")
    yield _wide(contrast, f"{BY_DISTANCE}{ending}", "distance", ranges)
    kinds = contrast.of_kind("category", "attractor")
    yield _wide(contrast, f"{BY_CATEGORY}{ending}", "category", kinds)
    yield _every_distance(contrast, f"contrast_every_distance{ending}")
    if contrast.tests.tests:
        about, asked = origin_of(contrast), evaluation.scoring.resamples
        yield table_of_tests(contrast.tests, contrast.systems, PAIRS, about, asked, ending)


def origin_of(contrast: Contrast) -> dict[str, str | int]:
    """Return the settings that the numbers depend on."""
    [everything] = contrast.of_kind("all")
    return {
        "contrastive pairs": everything.pairs,
        "source sentences": len(everything.subset.index),
        "resamples": contrast.draws.count,
        "resampling seed": contrast.draws.seed,
    }


def _wide(contrast: Contrast, name: str, by: str, groups: Sequence[ScoredGroup]) -> Table:
    """Return a table with a row for each system and a column for each group."""
    columns = [system_column(contrast.systems), Column("seeds", "seed")]
    for group in groups:
        thin = "*" if group.subset.thin else ""
        title = f"{title_of(group)}{thin} (n = {group.pairs:,})"
        columns.append(Column(title_of(group), title, "estimate", RIGHT_CHOICES.decimals))
    rows: list[list[Cell]] = [
        [system.name, seeds(system), *(group.estimate(system.name) for group in groups)]
        for system in contrast.systems
    ]
    marked = any(group.subset.thin for group in groups)
    note = f"{NOTE} * fewer than {THIN} source sentences." if marked else NOTE
    title = f"Right choices between two translations (%), by {by}"
    return Table(name, title, columns, rows, origin_of(contrast), note)


def _every_distance(contrast: Contrast, name: str) -> Table:
    rows: list[list[Cell]] = [
        [system.name, seeds(system), int(group.name), group.pairs, group.estimate(system.name)]
        for system in contrast.systems
        for group in contrast.of_kind("distance")
    ]
    columns = [
        system_column(contrast.systems),
        Column("seeds", "seed"),
        Column("distance", "distance (words)", "count"),
        Column("pairs", "pairs", "count"),
        Column("right", RIGHT_CHOICES.label, "estimate", RIGHT_CHOICES.decimals),
    ]
    title = "Right choices between two translations, by single distances"
    return Table(name, title, columns, rows, origin_of(contrast), NOTE)
