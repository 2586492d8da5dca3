"""What BLEU loses to wrong lengths, to wrong words and to wrong order: parts that sum to the loss.

Three changes in turn make a translation perfect: its right words stand in the reference's order;
then all of its words are right; then it has the reference's length. Each raises BLEU, and what each
brings is one part of the loss. Lengths, and so the brevity penalty, stay as they are until the last
change. Papineni et al. 2002 (P02-1040, section 2) read the counts of BLEU in this way: its unigrams
say whether the words are right, its longer n-grams whether the text is fluent, and the brevity
penalty whether it is long enough.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from lightning_modules.metrics.bleu import BLEU_ORDER, bleu
from lightning_modules.metrics.metric import Array, FormulaMetric, ReferenceText

COUNTS = "bleu_losses"
"""Name of the statistics: those of BLEU, its matches in the reference's order, and all matches that
the length of the translation allows, ``(sentences, 10 + 4 + 4)``."""
_LENGTHS, _TOTAL = slice(0, 2), slice(2 + BLEU_ORDER, 2 + 2 * BLEU_ORDER)
_MATCHES = [slice(start, start + BLEU_ORDER) for start in (2, 10, 14)]


def loss_counts(counts: Array, hypotheses: Sequence[str], text: ReferenceText) -> Array:
    """Return the statistics ``COUNTS`` from those of BLEU, ``(sentences, 10)``.

    Of several references, the first has the order. No change takes a match away: where the order of
    the reference has fewer, those of the translation stay.
    """
    cut = text.rules.target.tokens
    matches = counts[:, _MATCHES[0]]
    ordered = matches.copy()
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, text.references, strict=True)):
        words, wanted = cut(hypothesis), cut(reference)
        better = in_order(words, wanted)
        if better != words:
            ordered[number] = np.maximum(ordered[number], ngram_matches(better, wanted))
    lacking = np.arange(BLEU_ORDER)
    of_reference = np.maximum(counts[:, 1:2] - lacking, 0)
    allowed = np.minimum(counts[:, _TOTAL], of_reference)
    return np.hstack([counts, ordered, np.maximum(ordered, allowed)])


def in_order(hypothesis: Sequence[str], reference: Sequence[str]) -> list[str]:
    """Return the hypothesis with its right words in the order of the reference.

    A word is right as often as the reference has it. Wrong words stay where they are, and the right
    ones share the other places. Of equal words, those of a longest common subsequence are meant,
    then others from left to right.
    """
    places = dict(common_subsequence(hypothesis, reference))
    taken, free = set(places.values()), defaultdict[str, list[int]](list)
    for place in reversed(range(len(reference))):
        if place not in taken:
            free[reference[place]].append(place)
    for place, word in enumerate(hypothesis):
        if place not in places and free[word]:
            places[place] = free[word].pop()
    ordered = list(hypothesis)
    for place, wanted in zip(sorted(places), sorted(places.values()), strict=True):
        ordered[place] = reference[wanted]
    return ordered


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return a longest common subsequence, as places in both (Hunt and Szymanski 1977)."""
    places = defaultdict[str, list[int]](list)
    for place in reversed(range(len(other))):
        places[other[place]].append(place)
    # For each length so far, the subsequence that ends first in `other`, as a linked list.
    ends: list[int] = []
    chains: list[tuple[int, int, int]] = []  # places in both, and the number of the chain before
    last: list[int] = []
    for here, word in enumerate(one):
        for there in places.get(word, ()):
            length = bisect_left(ends, there)
            chains.append((here, there, last[length - 1] if length else -1))
            ends[length : length + 1] = [there]
            last[length : length + 1] = [len(chains) - 1]
    found, number = [], last[-1] if last else -1
    while number >= 0:
        here, there, number = chains[number]
        found.append((here, there))
    return found[::-1]


def ngram_matches(hypothesis: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Return the number of n-grams that both have, each as often as both do, for n = 1 to 4."""
    return [
        (_ngrams(hypothesis, order) & _ngrams(reference, order)).total()
        for order in range(1, BLEU_ORDER + 1)
    ]


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _bleu_with(matches: int, sums: Array) -> Array:
    """Return BLEU with the matches as they are (0), in order (1), or all that length allows (2)."""
    parts = [sums[..., _LENGTHS], sums[..., _MATCHES[matches]], sums[..., _TOTAL]]
    return bleu(np.concatenate(parts, axis=-1))


def _lost(sums: Array) -> Array:
    return 100 - _bleu_with(0, sums)


def _to_length(sums: Array) -> Array:
    return 100 - _bleu_with(2, sums)


def _between(better: int, worse: int, sums: Array) -> Array:
    return _bleu_with(better, sums) - _bleu_with(worse, sums)


def _metric(name: str, label: str, formula: Callable[[Array], Array]) -> FormulaMetric:
    return FormulaMetric(name, label, -1, COUNTS, formula)


LOST = _metric("bleu_lost", "BLEU lost", _lost)
PARTS = (
    _metric("lost_to_length", "BLEU lost to wrong length", _to_length),
    _metric("lost_to_words", "BLEU lost to wrong words", partial(_between, 2, 1)),
    _metric("lost_to_order", "BLEU lost to wrong order", partial(_between, 1, 0)),
)
"""Parts of ``LOST``, 100 less BLEU; none is negative, and they sum to it."""
