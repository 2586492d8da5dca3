"""Tables of the n-grams that systems get right or wrong differently often."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lightning_modules.metrics.systems import System
from lightning_modules.metrics.word_accuracy import tokens
from lightning_modules.metrics.words.ngrams import Kind, SalientNgram, ngram_counts, salient
from sweeps.comparison.evaluation import Evaluation, Group
from sweeps.comparison.score_tables import system_column
from sweeps.comparison.tables import Cell, Column, Table

KINDS: dict[Kind, str] = {
    "matched": "right more often",
    "over": "written in excess",
    "under": "missing",
}
TOP_NGRAMS = 10


def ngram_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield a table for each test set with several systems."""
    for group, name in evaluation.named_groups("ngrams"):
        yield _table(group, name)


def _table(group: Group, name: str) -> Table:
    """Compare every system with the system of best BLEU, by the outputs of their first seeds."""
    references = tokens(group.systems[0].test.references)
    best = max(group.systems, key=lambda system: _bleu(group, system))
    counts = {
        system.name: ngram_counts(references, tokens(system.outputs[0].hypotheses))
        for system in group.systems
    }
    rows: list[list[Cell]] = []
    for system in group.systems:
        if system is best:
            continue
        for kind, label in KINDS.items():
            sides = salient(counts[system.name], counts[best.name], kind, TOP_NGRAMS)
            for one, other, ngrams in ((system, best, sides[0]), (best, system, sides[1])):
                rows += [[one.name, other.name, label, *_cells(ngram)] for ngram in ngrams]
    columns = [
        system_column(group.systems),
        system_column(group.systems, "other", "beside"),
        Column("kind", "what happens to it"),
        Column("ngram", "n-gram"),
        Column("count", "times", "count"),
        Column("other_count", "by the other", "count"),
        Column("ratio", "ratio", "number", 2),
    ]
    return Table(
        name,
        f"N-grams that set systems apart from {best.label}",
        columns,
        rows,
        {"test sentences": len(references), "tokenizer": "13a", "seed": "the first of each system"},
        "The ratio is (a + 1) / (a + b + 2) for a times in the one and b in the other.",
    )


def ten_for_each_pair(table: Table) -> Table:
    """Return the ten n-grams of the largest ratio for each pair of systems and each order of it."""
    pairs: dict[tuple[Cell, Cell], list[Sequence[Cell]]] = {}
    for row in sorted(table.rows, key=lambda row: -float(row[-1])):  # type: ignore[arg-type]
        pairs.setdefault((row[0], row[1]), []).append(row)
    order = dict.fromkeys((row[0], row[1]) for row in table.rows)
    rows = [row for pair in order for row in pairs[pair][:TOP_NGRAMS]]
    return replace(table, rows=rows, note=f"{table.note} Ten for each pair; all are in the files.")


def _bleu(group: Group, system: System) -> float:
    estimate = group.subsets[0].estimate(system.name, "bleu")
    return estimate.value if estimate else 0.0


def _cells(ngram: SalientNgram) -> list[Cell]:
    return [" ".join(ngram.ngram), ngram.count, ngram.other, ngram.ratio]
