"""Random sentence pairs of given lengths, padded and packed."""

import numpy as np

from datamodules.batching import Batch, EncodedPairs, Sequences, collate
from lightning_modules.kernels.packed_attention import Spans
from lightning_modules.variants.transformer.packed import spans_of
from tests.helpers.variants import VOCABULARY

KINDS = ("encoder", "decoder", "across")
"""The attentions of a Transformer, in the order of ``spans_of``."""


def packed_batch(src: list[int], tgt: list[int], room: int, seed: int = 0) -> Batch:
    """Return random sentence pairs with so many tokens on each side, EOS counted."""
    random = np.random.default_rng(seed)
    sides = (
        Sequences.of([random.integers(4, VOCABULARY, length - 1).tolist() for length in lengths])
        for lengths in (src, tgt)
    )
    return collate(EncodedPairs(np.arange(len(src)), *sides)).pack(room)


def spans(kind: str, src: list[int], tgt: list[int], queries: int, keys: int) -> Spans:
    """Return the spans of an attention, in streams of so many queries and keys."""
    packed = packed_batch(src, tgt, max(queries, keys, sum(src), sum(tgt))).packed
    assert packed is not None
    first, end, seen_from, seen_to = spans_of(packed)[KINDS.index(kind)]
    return Spans(first[:queries], end[:queries], seen_from[:keys], seen_to[:keys])
