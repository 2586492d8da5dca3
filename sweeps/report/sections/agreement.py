"""Right and wrong translations: what systems choose, by distance and by kind of error."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import distance_lines, figures_of
from lightning_modules.metrics.bootstrap import ScoredGroup, score_groups
from lightning_modules.metrics.contrast_choices import ALL, RIGHT_CHOICES, PairChoices
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.pair_tests import compare_pairs, correct_by_holm
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import Evaluation, enough_draws
from sweeps.comparison.score_tables import origin_in_words, seeds, system_column
from sweeps.comparison.significance_tables import Parts, SignificanceTests, table_of_tests
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section

BY_DISTANCE, BY_CATEGORY = "contrast_by_distance", "contrast_by_category"
PAIRS = Parts("pairs", "source sentences")
NOTE = (
    "Share of pairs in which a system finds the right translation more probable than the wrong "
    "one; 50% is chance where both have the same number of words. In brackets the 95% bootstrap "
    "interval over source sentences; after ± the standard deviation over seeds."
)


class DistanceAgreement(Section):
    """Choices between contrastive pairs; nothing where no run was tested with such pairs."""

    heading = "Agreement against distance"
    template = '{% include "sections/agreement.html.j2" %}'

    @cached_property
    def _named(self) -> list[tuple["Contrast", str]]:
        """Each set of pairs with an ending for the names of its files."""
        found = enumerate(contrasts(self.findings.evaluation), start=1)
        return [(contrast, "" if place == 1 else f"_{place}") for place, contrast in found]

    @override
    def tables(self) -> Sequence[Table]:
        asked = self.findings.evaluation.scoring.resamples
        return [
            table for contrast, ending in self._named for table in _tables(contrast, asked, ending)
        ]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        figures: dict[str, Chart] = {}
        for contrast, ending in self._named:
            if contrast.of_kind("distance"):
                labels = {system.name: system.label for system in contrast.systems}
                lines = distance_lines(contrast.groups, labels, origin_in_words(contrast.origin))
                figures |= figures_of(f"{BY_DISTANCE}{ending}", lines, width)
        return figures


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

    @property
    def origin(self) -> dict[str, str | int]:
        """The settings that the numbers depend on."""
        [everything] = self.of_kind("all")
        return {
            "contrastive pairs": everything.pairs,
            "source sentences": len(everything.subset.index),
            "resamples": self.draws.count,
            "resampling seed": self.draws.seed,
        }


def contrasts(evaluation: Evaluation) -> list[Contrast]:
    """Score and test the systems of each test set that chose between the same pairs."""
    return [
        _contrast(members, evaluation.draws)
        for group in evaluation.groups
        for members in _by_pairs(group.systems)
    ]


def _contrast(choices: Mapping[System, Mapping[int, PairChoices]], draws: Resamples) -> Contrast:
    systems = list(choices)
    [first, *_] = choices[systems[0]].values()
    tested = sum(kind != "distance" for kind, *_ in first.groups)
    groups = score_groups({system.name: chosen for system, chosen in choices.items()}, draws)
    most = enough_draws(draws, tested * math.comb(len(systems), 2))
    tests = [
        replace(test, subset="all pairs" if group.kind == ALL else _title(group))
        for group in groups
        if group.kind != "distance"
        for test in compare_pairs(group.systems, [group.subset], RIGHT_CHOICES, most)
    ]
    significance = SignificanceTests(RIGHT_CHOICES, correct_by_holm(tests), most.count)
    return Contrast(systems, groups, significance, draws)


def _by_pairs(systems: Iterable[System]) -> list[dict[System, dict[int, PairChoices]]]:
    """Group the choices of systems whose seeds all chose between the same pairs, by seed."""
    groups: list[dict[System, dict[int, PairChoices]]] = []
    firsts: list[PairChoices] = []
    for system in systems:
        chosen = {o.seed: o.contrast for o in system.outputs if o.contrast is not None}
        if len(chosen) < len(system.outputs):
            continue
        [first, *others] = chosen.values()
        if not all(map(first.on_pairs_of, others)):
            continue
        for known, group in zip(firsts, groups, strict=True):
            if known.on_pairs_of(first):
                group[system] = chosen
                break
        else:
            firsts.append(first)
            groups.append({system: chosen})
    return groups


def _title(group: ScoredGroup) -> str:
    """Return the name of a group for readers: ``negation control``, ``distance 1–5``, ``all``."""
    name = group.name.replace("_", " ")
    return f"distance {name}" if group.kind.startswith("distance") else name


def _tables(contrast: Contrast, asked: int, ending: str) -> Iterator[Table]:
    """Yield the tables of one set of pairs; ``ending`` ends the names of their files."""
    ranges = contrast.of_kind("all", "distances")
    yield _wide(contrast, f"{BY_DISTANCE}{ending}", "distance", ranges)
    kinds = contrast.of_kind("category", "attractor")
    yield _wide(contrast, f"{BY_CATEGORY}{ending}", "category", kinds)
    yield _every_distance(contrast, f"contrast_every_distance{ending}")
    if contrast.tests.tests:
        yield table_of_tests(
            contrast.tests, contrast.systems, PAIRS, contrast.origin, asked, ending
        )


def _wide(contrast: Contrast, name: str, by: str, groups: Sequence[ScoredGroup]) -> Table:
    """Return a table with a row for each system and a column for each group."""
    columns = [system_column(contrast.systems), Column("seeds", "seed")]
    for group in groups:
        thin = "*" if group.subset.thin else ""
        title = f"{_title(group)}{thin} (n = {group.pairs:,})"
        columns.append(Column(_title(group), title, "estimate", RIGHT_CHOICES.decimals, best=1))
    rows: list[list[Cell]] = [
        [system.name, seeds(system), *(group.estimate(system.name) for group in groups)]
        for system in contrast.systems
    ]
    marked = any(group.subset.thin for group in groups)
    note = f"{NOTE} * fewer than {THIN} source sentences." if marked else NOTE
    title = f"Right choices between two translations (%), by {by}"
    return Table(name, title, columns, rows, contrast.origin, note)


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
    return Table(name, title, columns, rows, contrast.origin, NOTE)
