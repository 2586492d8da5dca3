"""Batches as packed sentences: one stream of tokens for each side, without padding in between."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.batching.rounded import NO_TARGET
from datamodules.tokenization import PAD

STEP = 128  # the room of a stream is a multiple of it, as kernels compute tiles of tokens


class PackedBatch(NamedTuple):
    """Sentence pairs as two streams of tokens of fixed room, in the order of the batch.

    The free places behind the last sentence hold PAD, and spans from 0 to 0. Shapes never vary, so
    that kernels are compiled once.
    """

    src: Tensor  # `(room,)` int64
    tgt_in: Tensor  # `(room,)` int64
    tgt_out: Tensor  # `(room,)` int64; NO_TARGET in free places
    src_spans: Tensor
    """``(2, room)`` int32: of each source token, the first place of its sentence and the end."""
    tgt_spans: Tensor  # the same of each target token, in the target stream
    src_of_tgt: Tensor
    """``(2, room)`` int32: of each target token, the first place of its source and the end."""
    tgt_of_src: Tensor  # of each source token, those of its target

    @property
    def tgt_tokens(self) -> Tensor:
        """Number of target tokens, ``()``."""
        return (self.tgt_out != NO_TARGET).sum()

    def pin_memory(self) -> "PackedBatch":
        """Return a copy in pinned memory, from which a GPU reads while the processor continues."""
        return PackedBatch(*(part.pin_memory() for part in self))


def room_for(max_tokens: int, longest: int, pieces: int) -> int:
    """Return the room of a stream for each of the ``pieces`` of a batch.

    A batch has at most ``max_tokens`` tokens on a side, and every ``pieces``-th of its sentences is
    in a piece: one sentence, of at most ``longest`` tokens, more than its share.
    """
    most = min(max_tokens, max_tokens // pieces + longest)
    return -(-most // STEP) * STEP


def pack_sentences(
    src: NDArray[np.int64],
    tgt_in: NDArray[np.int64],
    tgt_out: NDArray[np.int64],
    lengths: NDArray[np.int64],
    room: int,
) -> PackedBatch:
    """Pack sentences of ``lengths`` ``(2, batch)``, given as the padded arrays of a batch.

    Raises ``ValueError`` if they do not fit the room.
    """
    if (most := int(lengths.sum(1).max(initial=0))) > room:
        raise ValueError(f"{most} tokens do not fit a stream of {room}")
    ends = lengths.cumsum(1)
    bounds = np.stack([ends - lengths, ends], 1).astype(np.int32)  # (side, bound, sentence)

    def spread(bounds: NDArray[np.int32], repeats: NDArray[np.int64]) -> Tensor:
        spans = np.zeros((2, room), np.int32)
        spans[:, : repeats.sum()] = bounds.repeat(repeats, 1)
        return torch.from_numpy(spans)

    def stream(padded: NDArray[np.int64], lengths: NDArray[np.int64], free: int) -> Tensor:
        tokens = np.full(room, free, np.int64)
        real = np.arange(padded.shape[1]) < lengths[:, None]
        tokens[: lengths.sum()] = padded[real]
        return torch.from_numpy(tokens)

    (src_bounds, tgt_bounds), (src_lengths, tgt_lengths) = bounds, lengths
    return PackedBatch(
        src=stream(src, src_lengths, PAD),
        tgt_in=stream(tgt_in, tgt_lengths, PAD),
        tgt_out=stream(tgt_out, tgt_lengths, NO_TARGET),
        src_spans=spread(src_bounds, src_lengths),
        tgt_spans=spread(tgt_bounds, tgt_lengths),
        src_of_tgt=spread(src_bounds, tgt_lengths),
        tgt_of_src=spread(tgt_bounds, src_lengths),
    )
