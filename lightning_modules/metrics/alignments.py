"""From attention weights between subwords to word alignments."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
"""Source word and target word, both counted from 0."""

_PAIR = re.compile(r"([0-9]+)-([0-9]+)")


def word_weights(
    weights: NDArray[np.floating], src_words: Sequence[int], tgt_words: Sequence[int]
) -> NDArray[np.float64]:
    """Merge subword weights (tgt tokens, src tokens) into word weights (tgt words, src words).

    ``src_words[i]`` is the word that source token ``i`` belongs to, ``-1`` for a special token
    (its weight is dropped); the same for ``tgt_words``. Attention *to* a word is the sum over its
    pieces, attention *from* a word the mean over its pieces, so that a row still sums to at most 1
    (Clark et al. 2019). A word without pieces has zeros.

    Raises ``ValueError`` when the shapes disagree or an index is below -1.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(tgt_words), len(src_words)):
        expected = (len(tgt_words), len(src_words))
        raise ValueError(f"weights have shape {weights.shape}, the tokens ask for {expected}")
    from_target = _membership(tgt_words)
    pieces = from_target.sum(axis=1, keepdims=True)
    return (from_target / np.maximum(pieces, 1)) @ weights @ _membership(src_words).T


def _membership(words: Sequence[int]) -> NDArray[np.float64]:
    """Matrix (words, tokens) that is 1 where the token is a piece of the word."""
    index = np.asarray(words, dtype=np.int64)
    if (index < -1).any():
        raise ValueError(f"word indices must be -1 or more, not {index.min()}")
    count = int(index.max(initial=-1)) + 1
    return (index == np.arange(count)[:, None]).astype(np.float64)


def hard_alignment(weights: NDArray[np.floating]) -> list[Pair]:
    """Source word of highest weight for each target word of ``weights`` (tgt words, src words).

    The first of equals wins; a target word that looks at no word at all stays unaligned.
    """
    return [(int(row.argmax()), j) for j, row in enumerate(np.asarray(weights)) if row.any()]


def alignment_error_rate(found: Sequence[Sequence[Pair]], gold: Sequence[Sequence[Pair]]) -> float:
    """Och and Ney 2003, section 5.1, with every gold link sure: ``1 - 2|A∩S| / (|A| + |S|)``.

    Counted over all sentences together; 0 for links that agree. Raises ``ValueError`` when there
    are no links at all, or not as many sentences on both sides.
    """
    pairs = [(set(a), set(s)) for a, s in zip(found, gold, strict=True)]
    links = sum(len(a) + len(s) for a, s in pairs)
    if not links:
        raise ValueError("no alignment links to compare")
    return 1 - 2 * sum(len(a & s) for a, s in pairs) / links


def format_pharaoh(pairs: Iterable[Pair]) -> str:
    """Write pairs as ``0-0 1-2``, source word first, in source order. Raises ``ValueError``."""
    ordered = sorted(set(pairs))
    if any(source < 0 or target < 0 for source, target in ordered):
        raise ValueError(f"word positions count from 0, not {ordered[0]}")
    return " ".join(f"{source}-{target}" for source, target in ordered)


def parse_pharaoh(line: str) -> list[Pair]:
    """Read a line like ``0-0 1-2``. Raises ``ValueError`` that names what is no pair."""
    pairs = []
    for piece in line.split():
        match = _PAIR.fullmatch(piece)
        if match is None:
            raise ValueError(f"{piece!r} is no alignment pair: write source-target, like 0-0 1-2")
        pairs.append((int(match[1]), int(match[2])))
    return pairs
