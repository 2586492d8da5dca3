"""Tables of the words that systems get right."""

from sweeps.evaluation.score_tables import UNCERTAINTY, seeds, system_column
from sweeps.evaluation.tables import Cell, Column, Table
from sweeps.evaluation.words.word_groups import WordGroups


def word_table(groups: WordGroups) -> Table:
    """Return a table with a row for each system and group of words."""
    columns = [
        system_column(each.system for each in groups.scores),
        Column("seeds", "seed"),
        Column("group", groups.grouped_by),
        Column(groups.counted.key, groups.counted.title, "count"),
        *(Column(key, title, "estimate", decimals) for key, title, decimals in groups.measures),
    ]
    rows: list[list[Cell]] = [
        [each.system.name, seeds(each.system), each.group, each.words, *each.estimates]
        for each in groups.scores
    ]
    return Table(
        groups.name,
        groups.title,
        columns,
        rows,
        groups.origin,
        f"{groups.note} {UNCERTAINTY} Groups that a resample may lack have no interval.",
    )
