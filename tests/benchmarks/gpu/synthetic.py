"""Sentence pairs with the lengths of news text, and batches of them; no file is read."""

import numpy as np
import torch

from datamodules.batching import (
    EncodedPairs,
    Feed,
    LengthBatchSampler,
    Pieces,
    PieceSampler,
    Place,
    Sequences,
)

MEDIAN, SPREAD = 24, 0.55
"""Parameters of the log-normal lengths of source sentences: 28 subwords on average, as in WMT's
news."""
RATIO_SPREAD = 0.15
"""Spread of the logarithm of target over source length."""
SHORTEST, LONGEST = 3, 100


def pairs(count: int, vocabulary: int, seed: int = 0) -> EncodedPairs:
    """Return ``count`` random pairs with tokens from 4 to ``vocabulary`` - 1."""
    random = np.random.default_rng(seed)
    src = np.exp(random.normal(np.log(MEDIAN), SPREAD, count))
    tgt = src * np.exp(random.normal(0, RATIO_SPREAD, count))
    sides = []
    for exact in (src, tgt):
        lengths = exact.round().clip(SHORTEST, LONGEST).astype(np.int64)
        tokens = random.integers(4, vocabulary, lengths.sum(), dtype=np.int32)
        sides.append(Sequences.joined(tokens, lengths))
    return EncodedPairs(np.arange(count), *sides)


def training_batches(
    data: EncodedPairs, tokens: int, device: torch.device, rank: int = 0, ranks: int = 1
) -> Feed:
    """Return the batches of a rank as a training gets these; one piece for each rank."""
    whole = LengthBatchSampler(data, tokens, shuffle=True)
    sampler = PieceSampler(whole, Place(rank, ranks, pieces=ranks))
    return Feed(Pieces(data), sampler, workers=1, device=device)
