"""Batches under a token budget, the same for every variant."""

from datamodules.batching.bpe_dropout import BpeDropout, Spelled
from datamodules.batching.by_length import LengthBatchSampler, batches_of
from datamodules.batching.feed import Feed
from datamodules.batching.mixed import MixedBatchSampler
from datamodules.batching.pairs import (
    Batch,
    EncodedPairs,
    Sequences,
    as_built,
    collate,
    sources_alone,
)
from datamodules.batching.ranks import Pieces, PieceSampler, Place, WholeBatches
from datamodules.batching.sampler import TokenBatchSampler
from datamodules.batching.sizes import Batching
