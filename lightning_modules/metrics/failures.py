"""How translations fail: each translation is of one kind.

The kinds, with their thresholds; the first that fits counts, from ``LONG`` down:

- **right**: word for word one of its references, as exact match has it;
- **too long or looping**: longer than ``LONGEST`` times the reference by at least ``APART`` words,
  or a share of at least ``REPEATED`` of its words repeats: they stand in groups of ``GROUP`` words
  that stood earlier in the same translation. Words that repeat in the reference too are subtracted,
  and several ``<unk>`` in a row are no group;
- **too short**: shorter than ``SHORTEST`` times the reference by at least ``APART`` words;
- **unknown word**: has ``<unk>`` where the reference has none;
- **wrong words**: all others, whose length is about that of the reference.

Of several references, the one closest in length is compared, as in BLEU's brevity penalty. Words
are those of ``WordRule.words``: of Chinese they are letters.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.metric import Array, FormulaMetric, ReferenceText, check_aligned

LONGEST, SHORTEST, APART = 1.3, 0.7, 2
REPEATED, GROUP = 0.2, 4
UNKNOWN_WORD = "<unk>"


class TranslationKind(IntEnum):
    """What a translation is, from right to the worst; ``label`` is for readers."""

    RIGHT = 0
    WRONG = 1
    UNKNOWN = 2
    SHORT = 3
    LONG = 4

    @property
    def label(self) -> str:
        """The kind in words."""
        return LABELS[self]


LABELS: Mapping[TranslationKind, str] = {
    TranslationKind.RIGHT: "right",
    TranslationKind.WRONG: "wrong words",
    TranslationKind.UNKNOWN: "unknown word",
    TranslationKind.SHORT: "too short",
    TranslationKind.LONG: "too long or looping",
}
Kinds = NDArray[np.int64]
"""A ``TranslationKind`` for each sentence, ``(sentences,)``."""


def translation_kinds(text: ReferenceText, hypotheses: Sequence[str]) -> Kinds:
    """Return the kind of each translation. Raises ``ValueError`` for unequal numbers of lines."""
    check_aligned(references=text.references, hypotheses=hypotheses)
    cut = text.rules.target.words
    kinds = [
        kind_of(cut(hypothesis), [cut(each) for each in references if each is not None])
        for hypothesis, references in zip(hypotheses, zip(*text.streams, strict=True), strict=True)
    ]
    return np.array(kinds, np.int64)


def kind_of(words: Sequence[str], references: Sequence[Sequence[str]]) -> TranslationKind:
    """Return the kind of a translation, given its words and those of its references."""
    if any(list(words) == list(each) for each in references):
        return TranslationKind.RIGHT
    closest = min(abs(len(each) - len(words)) for each in references)
    # The order of equally close references must not matter.
    reference = min(list(each) for each in references if abs(len(each) - len(words)) == closest)
    more = len(words) - len(reference)
    if (more >= APART and len(words) > LONGEST * len(reference)) or loops(words, reference):
        return TranslationKind.LONG
    if -more >= APART and len(words) < SHORTEST * len(reference):
        return TranslationKind.SHORT
    if UNKNOWN_WORD in words and UNKNOWN_WORD not in reference:
        return TranslationKind.UNKNOWN
    return TranslationKind.WRONG


def loops(words: Sequence[str], reference: Sequence[str]) -> bool:
    """Return whether a translation repeats itself, more than its reference does."""
    repeated = int(repeated_words(words).sum())
    least = REPEATED * len(words)
    if not repeated or repeated < least:
        return False
    return repeated - int(repeated_words(reference).sum()) >= least


def repeated_words(words: Sequence[str]) -> NDArray[np.bool_]:
    """Return which words stand in a group of ``GROUP`` words that stood earlier in the line."""
    repeated = np.zeros(len(words), bool)
    seen: set[tuple[str, ...]] = set()
    for start in range(len(words) - GROUP + 1):
        group = tuple(words[start : start + GROUP])
        if group in seen and set(group) != {UNKNOWN_WORD}:
            repeated[start : start + GROUP] = True
        seen.add(group)
    return repeated


COUNTS = "failures"
"""Name of the statistics from which the shares are computed: 1 in the column of the kind."""


def kind_counts(kinds: Kinds) -> Array:
    """Return the statistics ``COUNTS`` of kinds: ``(sentences,) -> (sentences, kinds)``."""
    return np.eye(len(TranslationKind))[kinds]


def _share(kind: TranslationKind, sums: Array) -> Array:
    """Return the percentage of a kind: ``(…, kinds) -> (…)``."""
    whole = sums.sum(-1)
    parts = 100 * sums[..., kind]
    return np.divide(parts, whole, where=whole != 0, out=np.full(whole.shape, np.nan))


SHARES: Mapping[TranslationKind, FormulaMetric] = {
    kind: FormulaMetric(
        name=kind.name.lower(),
        label=f"{kind.label} (%)",
        better=1 if kind is TranslationKind.RIGHT else -1,
        counts=COUNTS,
        formula=partial(_share, kind),
    )
    for kind in TranslationKind
}
"""The share of each kind, as a score of any set of sentences."""
