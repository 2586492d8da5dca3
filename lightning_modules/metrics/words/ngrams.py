"""N-grams that two systems produce differently often, after compare-mt (Neubig et al. 2019)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import inf
from typing import Literal, get_args

from lightning_modules.metrics.metric import check_aligned

MAX_ORDER = 4
NGram = tuple[str, ...]
Kind = Literal["matched", "over", "under"]


@dataclass(frozen=True)
class NgramCounts:
    """How often a system gets each n-gram right or wrong, clipped within each sentence.

    ``matched`` counts n-grams of both hypothesis and reference, ``over`` surplus n-grams of the
    hypothesis, ``under`` n-grams of the reference that the hypothesis lacks.
    """

    matched: Counter[NGram]
    over: Counter[NGram]
    under: Counter[NGram]


@dataclass(frozen=True)
class SalientNgram:
    """An n-gram with its count in one system, its count in the other, and their ratio."""

    ngram: NGram
    count: int
    other: int
    ratio: float


def ngram_counts(
    references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]
) -> NgramCounts:
    """Count n-grams of 1 to 4 words. Raises ``ValueError`` for lists of unequal length."""
    check_aligned(references=references, hypotheses=hypotheses)
    matched: Counter[NGram] = Counter()
    in_references: Counter[NGram] = Counter()
    in_hypotheses: Counter[NGram] = Counter()
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        in_reference, in_hypothesis = _ngrams(reference), _ngrams(hypothesis)
        matched.update(in_hypothesis & in_reference)
        in_references.update(in_reference)
        in_hypotheses.update(in_hypothesis)
    return NgramCounts(matched, over=in_hypotheses - matched, under=in_references - matched)


def _ngrams(words: Sequence[str]) -> Counter[NGram]:
    return Counter(
        ngram
        for order in range(1, MAX_ORDER + 1)
        for ngram in zip(*(words[start:] for start in range(order)), strict=False)
    )


def salient(
    first: NgramCounts, second: NgramCounts, kind: Kind, top: int = 10, alpha: float = 1.0
) -> tuple[list[SalientNgram], list[SalientNgram]]:
    """Return the ``top`` n-grams more frequent in the first system, then those in the second.

    N-grams are ordered by compare-mt's ratio ``(a + α) / (a + b + 2α)``, where ``a`` is the higher
    count and ``b`` the count of the other system; equal ratios by the higher ``a``, then
    alphabetically. A larger ``alpha`` favours frequent n-grams. N-grams with equal counts (ratio
    0.5) are left out.

    Raises ``ValueError`` for an unknown ``kind`` or a negative or infinite ``alpha``.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"unknown kind {kind!r}: choose matched, over or under")
    if not 0 <= alpha < inf:
        raise ValueError(f"alpha must be a finite number, 0 or more, not {alpha}")
    a, b = getattr(first, kind), getattr(second, kind)
    return _more_often(a, b, top, alpha), _more_often(b, a, top, alpha)


def _more_often(
    counts: Counter[NGram], others: Counter[NGram], top: int, alpha: float
) -> list[SalientNgram]:
    ranks = (
        (-(count + alpha) / (count + other + 2 * alpha), -count, ngram)
        for ngram, count in counts.items()
        if count > (other := others.get(ngram, 0))
    )
    return [
        SalientNgram(ngram, -count, others[ngram], -ratio)
        for ratio, count, ngram in nsmallest(top, ranks)
    ]
