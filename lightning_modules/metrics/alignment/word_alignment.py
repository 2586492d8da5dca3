"""Word alignments from attention weights between subwords, and their Pharaoh format."""

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
    """Merge weights ``(…, tgt tokens, src tokens)`` of subwords to ``(…, tgt words, src words)``.

    ``src_words[i]`` is the word of source token ``i``, or ``-1`` for a special token, whose weight
    is dropped; ``tgt_words[j]`` is the word of target token ``j`` in the same way. Attention *to* a
    word is the sum over its pieces, attention *from* a word the mean over its pieces, so that a row
    still sums to at most 1 (Clark et al. 2019). The weights of a word without pieces are 0.

    Raises ``ValueError`` when the shapes disagree or an index is below -1.
    """
    weights = np.asarray(weights, dtype=np.float64)
    expected = (len(tgt_words), len(src_words))
    if weights.shape[-2:] != expected:
        raise ValueError(f"weights have shape {weights.shape}, the tokens ask for {expected}")
    from_target = _membership(tgt_words)
    pieces = from_target.sum(axis=1, keepdims=True)
    return (from_target / np.maximum(pieces, 1)) @ weights @ _membership(src_words).T


def _membership(words: Sequence[int]) -> NDArray[np.float64]:
    """Return a matrix ``(words, tokens)`` that is 1 where the token is a piece of the word."""
    index = np.asarray(words, dtype=np.int64)
    if (index < -1).any():
        raise ValueError(f"word indices must be -1 or more, not {index.min()}")
    count = int(index.max(initial=-1)) + 1
    return (index == np.arange(count)[:, None]).astype(np.float64)


def hard_alignment(weights: NDArray[np.floating]) -> list[Pair]:
    """Link each target word to its source word of highest weight ``(tgt words, src words)``.

    The first of equal weights wins. A target word whose weights are all 0 stays unaligned.
    """
    return [(int(row.argmax()), j) for j, row in enumerate(np.asarray(weights)) if row.any()]


def format_pharaoh(pairs: Iterable[Pair]) -> str:
    """Return pairs as ``0-0 1-2``, sorted, source word first. Raises ``ValueError`` below 0."""
    ordered = sorted(set(pairs))
    if any(source < 0 or target < 0 for source, target in ordered):
        raise ValueError(f"word positions count from 0, not {ordered[0]}")
    return " ".join(f"{source}-{target}" for source, target in ordered)


def format_soft_pharaoh(weights: NDArray[np.floating], at_least: float = 0.01) -> str:
    """Return weights ``(tgt words, src words)`` as ``0-0:0.93 1-0:0.05``: source-target:weight.

    Target words follow one another in order. Weights below ``at_least`` are left out.
    """
    weights = np.asarray(weights)
    return " ".join(
        f"{source}-{target}:{weights[target, source]:.4g}"
        for target, source in np.argwhere((weights >= at_least) & (weights > 0))
    )


def parse_pharaoh(line: str) -> list[Pair]:
    """Read a line like ``0-0 1-2``. Raises ``ValueError`` that names a wrong pair."""
    pairs = []
    for piece in line.split():
        match = _PAIR.fullmatch(piece)
        if match is None:
            raise ValueError(f"{piece!r} is no alignment pair: write source-target, like 0-0 1-2")
        pairs.append((int(match[1]), int(match[2])))
    return pairs
