"""Batches under a token budget, the same for every variant."""

from datamodules.batching.batches import (
    Batch,
    Batching,
    EncodedPairs,
    as_built,
    collate,
    sources_alone,
)
from datamodules.batching.bpe_dropout import BpeDropout, Merges, SpelledText
from datamodules.batching.feed import Feed
from datamodules.batching.packed import PackedBatch, room_for
from datamodules.batching.pieces import Pieces, PieceSampler, Place, WholeBatches
from datamodules.batching.rounded import NO_TARGET, Longest, RoundedBatch, largest
from datamodules.batching.sampler import (
    DecodingBatchSampler,
    LengthBatchSampler,
    MixedBatchSampler,
    TokenBatchSampler,
    batches_of,
    decode_tokens,
)
from datamodules.sequences import Sequences
