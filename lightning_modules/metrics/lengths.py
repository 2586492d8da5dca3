"""BLEU against sentence length: Figure 2 of Bahdanau et al. 2015 as numbers."""

import csv
import io
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lightning_modules.metrics.bleu import corpus_bleu

LengthUnit = Literal["source", "target"]
DEFAULT_EDGES = (10, 20, 30, 40, 50, 60)
CSV_COLUMNS = ("variant", "seed", "length_low", "length_high", "sentences", "bleu")


@dataclass(frozen=True)
class BucketScore:
    """Corpus BLEU over the sentences of ``length_low`` to ``length_high`` words, both included.

    ``length_high`` is ``None`` for the open bucket beyond the last edge, ``bleu`` is ``None`` for a
    bucket without sentences.
    """

    length_low: int
    length_high: int | None
    sentences: int
    bleu: float | None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """What tells buckets apart."""
        return (self.length_low, self.length_high)

    @property
    def label(self) -> str:
        """The bucket as a reader sees it: ``11–20``, or ``61+`` for the open one."""
        if self.length_high is None:
            return f"{self.length_low}+"
        return f"{self.length_low}–{self.length_high}"


def bleu_by_length(
    sources: Sequence[str],
    references: Sequence[str],
    hypotheses: Sequence[str],
    edges: Sequence[int] = DEFAULT_EDGES,
    unit: LengthUnit = "source",
) -> list[BucketScore]:
    """Corpus BLEU computed afresh over each length bucket, shortest first.

    ``edges`` are the inclusive upper bounds of the buckets, in words (whitespace-separated pieces)
    of the sources or, with ``unit="target"``, of the references. Every sentence is in exactly one
    bucket, an empty line in the first. Each edge gives a bucket, even one without sentences, so
    that all runs over one test set have the same buckets; the open bucket beyond the last edge is
    there only when a sentence is.

    Raises ``ValueError`` for edges that are not ascending positive integers, an unknown ``unit``,
    or lists of unequal length.
    """
    edges = list(edges)
    check_edges(edges)
    if unit not in ("source", "target"):
        raise ValueError(f"unknown length unit {unit!r}: choose source or target")
    buckets: list[list[tuple[str, str]]] = [[] for _ in range(len(edges) + 1)]
    for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        words = len((source if unit == "source" else reference).split())
        buckets[bisect_left(edges, words)].append((hypothesis, reference))
    if not buckets[-1]:
        buckets.pop()
    lows = [1, *(edge + 1 for edge in edges)]
    highs = [*edges, None]
    return [
        BucketScore(low, high, len(pairs), _bleu(pairs))
        for low, high, pairs in zip(lows, highs, buckets, strict=False)
    ]


def check_edges(edges: Sequence[int]) -> None:
    """Raise ``ValueError`` unless ``edges`` are ascending positive integers, at least one."""
    whole = all(isinstance(edge, int) and edge > 0 for edge in edges)
    if not edges or not whole or any(a >= b for a, b in pairwise(edges)):
        raise ValueError(f"length edges must be ascending positive integers, not {list(edges)}")


def _bleu(pairs: list[tuple[str, str]]) -> float | None:
    if not pairs:
        return None
    return corpus_bleu([hypothesis for hypothesis, _ in pairs], [ref for _, ref in pairs])


def format_csv(rows: Iterable[tuple[str, int, BucketScore]]) -> str:
    """Text of ``bleu_by_length.csv`` for (variant, seed, bucket) rows; ``None`` is left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for variant, seed, score in rows:
        bleu = None if score.bleu is None else f"{score.bleu:.4f}"
        writer.writerow([variant, seed, score.length_low, score.length_high, score.sentences, bleu])
    return text.getvalue()


def parse_csv(text: str) -> list[tuple[str, int, BucketScore]]:
    """Read what ``format_csv`` wrote; further columns are ignored. Raises ``ValueError``."""
    rows = []
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            score = BucketScore(
                length_low=int(row["length_low"]),
                length_high=int(row["length_high"]) if row["length_high"] else None,
                sentences=int(row["sentences"]),
                bleu=float(row["bleu"]) if row["bleu"] else None,
            )
            rows.append((row["variant"], int(row["seed"]), score))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"line {number} is no row of BLEU by length: {error}") from error
    return rows
