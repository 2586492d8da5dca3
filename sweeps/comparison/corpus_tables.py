"""Tables of the corpora of runs: what they hold, and what cleaning did."""

from collections.abc import Iterator, Sequence

from datamodules.cleaning import StepCount
from datamodules.corpus_statistics import CorpusStatistics, Lengths, SideStatistics
from lightning_modules.runs.schema import Data
from sweeps.comparison.tables import Cell, Column, Table

CORPORA, SPLITS, CLEANING = "corpora", "corpus_splits", "corpus_cleaning"  # names of the tables
HISTOGRAM = "length_histogram"  # name of the figure
SIDES = ("source", "target")
STAGES = ("text", "vocabularies", "tokens")
LENGTHS = ("mean", "median", "percentile_95", "longest")

CORPUS_COLUMNS = [
    Column("corpus", "corpus"),
    Column("languages", "languages"),
    Column("fingerprint", "fingerprint"),
    Column("pairs_read", "pairs read", "count"),
    *(Column(f"{split}_pairs", f"{split} pairs", "count") for split in ("train", "val", "test")),
    *(Column(f"{side}_vocabulary", f"{side} vocabulary", "count") for side in SIDES),
    Column("leaked", "test pairs in training", "count"),
    *(Column(f"{side}_padding", f"{side} padding (%)", "number") for side in SIDES),
    *(Column(f"{stage}_seconds", f"seconds: {stage}", "number", 2) for stage in STAGES),
    Column("seconds", "seconds in all", "number", 2),
    Column("pairs_per_second", "pairs/s", "number", 0),
]
SPLIT_COLUMNS = [
    Column("split", "split"),
    Column("language", "side"),
    Column("pairs", "pairs", "count"),
    Column("words", "words", "count"),
    Column("types", "different words", "count"),
    Column("tokens", "tokens", "count"),
    Column("unknown", "unknown tokens (%)", "number", 2),
    *(
        Column(f"{unit}_{key}", f"{title}, {unit}", "number" if key == "mean" else "count")
        for unit in ("words", "tokens")
        for key, title in zip(LENGTHS, ("mean", "median", "95%", "longest"), strict=True)
    ),
]
CLEANING_COLUMNS = [
    Column("step", "step"),
    Column("split", "split"),
    Column("effect", "pairs are"),
    Column("seen", "seen", "count"),
    Column("count", "pairs", "count"),
    Column("share", "%", "number", 2),
    Column("pairs_per_second", "pairs/s", "number", 0),
    Column("examples", "examples"),
]


def corpora_table(corpora: Sequence[Data]) -> Table:
    """Return a table with a row for each corpus; each has statistics."""
    return Table(
        CORPORA,
        "Corpora",
        CORPUS_COLUMNS,
        [_corpus_row(data, _statistics(data)) for data in corpora],
        {"corpora": len(corpora)},
        "Pairs read: training pairs within the limits of the corpus, before cleaning. Test pairs "
        "in training: after cleaning. Seconds: of the preparation, after an interruption of its "
        "last process. Further columns: padding of whole training batches in "
        "the first epoch, or in its first 1,048,576 pairs, where EOS is no padding; seconds of "
        "each step, and training pairs read in a second of them all.",
    )


def splits_table(data: Data, ending: str = "") -> Table:
    """Return a table with a row for each side of each split of a corpus with statistics."""
    codes = (data.source, data.target) if data.source != data.target else SIDES
    names = dict(zip(SIDES, codes, strict=True))
    rows = [
        _split_row(split, names[side], found)
        for split, sides in _statistics(data).splits.items()
        for side, found in sides.items()
    ]
    return Table(
        f"{SPLITS}{ending}",
        f"Sentences of {data.name}",
        SPLIT_COLUMNS,
        rows,
        _origin(data),
        "Words are whitespace-separated; tokens are counted without EOS. 95%: least length that "
        "95% of the sentences do not exceed.",
    )


def cleaning_tables(data: Data, ending: str = "") -> list[Table]:
    """Return a table of the pairs that limits and cleaning looked at; none without such pairs."""
    steps = list(_cleaning_rows(_statistics(data)))
    made = Table(
        f"{CLEANING}{ending}",
        f"Pairs of {data.name} left out or changed",
        CLEANING_COLUMNS,
        steps,
        _origin(data),
        "Each step sees the pairs that the steps above it left. pairs/s: pairs seen in a second "
        "of processor time. Rows without a rate: limits of the corpus itself.",
    )
    return [made] if steps else []


def _statistics(data: Data) -> CorpusStatistics:
    assert data.statistics is not None
    return data.statistics


def _origin(data: Data) -> dict[str, str | int]:
    return {"corpus": data.name, "fingerprint": data.fingerprint or "not recorded"}


def _corpus_row(data: Data, found: CorpusStatistics) -> list[Cell]:
    return [
        data.name,
        f"{data.source} → {data.target}",
        data.fingerprint,
        found.pairs_read,
        *(data.pairs.get(split) for split in ("train", "val", "test")),
        *(data.vocabulary.get(side) for side in SIDES),
        found.leaked,
        *(_percent(data.padding.get(side)) for side in SIDES),
        *(found.seconds.get(stage) for stage in STAGES),
        sum(found.seconds.values()),
        found.pairs_per_second,
    ]


def _split_row(split: str, side: str, found: SideStatistics) -> list[Cell]:
    return [
        split,
        side,
        sum(found.histogram),
        found.words,
        found.types,
        found.tokens,
        _percent(found.unknown_share),
        *_length_cells(found.in_words),
        *_length_cells(found.in_tokens),
    ]


def _length_cells(lengths: Lengths) -> Iterator[Cell]:
    for key in LENGTHS:
        yield getattr(lengths, key)


def _cleaning_rows(found: CorpusStatistics) -> Iterator[list[Cell]]:
    for split, reasons in found.left_out.items():
        kept = sum(found.splits[split]["source"].histogram)
        for reason, count in reasons.items():
            yield _step_row(split, StepCount(reason, True, kept + count, count, [], 0))
    for step in found.cleaning:
        yield _step_row("train", step)


def _step_row(split: str, step: StepCount) -> list[Cell]:
    return [
        step.step,
        split,
        "left out" if step.leaves_out else "changed",
        step.seen,
        step.count,
        100 * step.count / max(1, step.seen),
        step.seen / step.seconds if step.seconds else None,
        "; ".join(f"“{example}”" for example in step.examples) or None,
    ]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
