"""Tables of right choices between contrastive pairs."""

from collections.abc import Iterator, Sequence

from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.uncertainty.contrast_scores import METRIC, ScoredGroup
from sweeps.evaluation.contrast import Contrast, title_of
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.score_tables import seeds, system_column
from sweeps.evaluation.significance_tables import Parts, table_of_tests
from sweeps.evaluation.tables import Cell, Column, Table

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
        columns.append(Column(title_of(group), title, "estimate", METRIC.decimals))
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
        Column("right", METRIC.label, "estimate", METRIC.decimals),
    ]
    title = "Right choices between two translations, by single distances"
    return Table(name, title, columns, rows, origin_of(contrast), NOTE)
