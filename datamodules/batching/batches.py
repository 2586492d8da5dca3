"""Encoded sentence pairs, and padded batches of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from datamodules.batching.packed import PackedBatch, pack_sentences
from datamodules.batching.rounded import Longest, RoundedBatch, rounded_form
from datamodules.sequences import Sequences
from datamodules.tokenization import BOS, EOS, PAD


@dataclass(frozen=True)
class Batching:
    """Sizes of batches in tokens, padding included, and how batches are built.

    Instantiated from ``conf/batching``.
    """

    max_tokens: int  # limit on sentences × longest side (EOS counted) of a training batch
    decode_max_tokens: int | None
    """The same in validation, test and translation; None: see ``decode_tokens``."""
    by_length: bool  # whether a training batch holds sentences of similar length
    pieces: int | None  # pieces of a training batch; None for one on each rank
    workers: int  # threads that build training batches ahead; 0 for none


class Batch(NamedTuple):
    """Padded sentence pairs on one device. Masks are True where a token is real.

    Arrays of numpy stay on the host when the tensors move to a GPU: reading a number back from a
    GPU would wait for everything that the GPU has still to do.

    ``src`` and ``tgt_out`` end with EOS, ``tgt_in`` begins with BOS. A model that has read position
    *i* of ``tgt_in`` predicts position *i* of ``tgt_out``, so ``tgt_mask`` is the mask of both.
    Text without a translation has an empty target: BOS in, EOS out.

    In training a batch may be one of several pieces of an update, on this rank or on other ranks.
    All pieces of an update have the same ``update_ids``, ``update_lengths`` and ``update_tokens``.
    """

    ids: NDArray[np.int64]  # ``(batch,)``: index of each sentence in the split
    src: Tensor  # ``(batch, src)`` int64
    src_mask: Tensor  # ``(batch, src)`` bool
    tgt_in: Tensor  # ``(batch, tgt)`` int64
    tgt_out: Tensor  # ``(batch, tgt)`` int64
    tgt_mask: Tensor  # ``(batch, tgt)`` bool
    lengths: NDArray[np.int64]  # ``(2, batch)``: real source and target tokens of each sentence
    tgt_places: Tensor  # ``(tokens,)`` int64: places of the real tokens in ``tgt_mask.flatten()``
    update_ids: NDArray[np.int64]  # ``(update,)``: ``ids`` of the whole update
    update_lengths: NDArray[np.int64]
    """``(2, update)``: source and target tokens of the whole update, EOS not counted."""
    update_tokens: int  # real target tokens of the whole update
    weight: float  # share of ``update_tokens`` in this piece; 0 for a repeated sentence
    piece: int  # number of the piece in the update, from 0
    packed: PackedBatch | None = None  # the same sentences without padding
    rounded: RoundedBatch | None = (
        None  # the same sentences in one of few shapes, for recorded updates
    )

    @property
    def form(self) -> PackedBatch | RoundedBatch | None:
        """What an update reads in place of the padded tensors; None for the padded tensors."""
        return self.rounded if self.packed is None else self.packed

    @property
    def source(self) -> tuple[Tensor, Tensor]:
        """The arguments of ``EncoderDecoder.encode``: tokens and mask."""
        return self.src, self.src_mask

    def real_targets(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return features ``(tokens, features)`` and tokens ``(tokens,)`` of all real positions.

        ``features`` are ``(batch, tgt, features)``, maybe on another device than the batch.
        """
        places, tgt_out = (part.to(features.device) for part in (self.tgt_places, self.tgt_out))
        flat = features.flatten(0, 1), tgt_out.flatten()
        return flat[0].index_select(0, places), flat[1].index_select(0, places)

    def pin_memory(self) -> "Batch":
        """Return a copy in pinned memory, from which a GPU reads while the processor continues."""
        parts = self._asdict().items()
        kinds = Tensor | PackedBatch | RoundedBatch
        pinned: Any = {name: part.pin_memory() for name, part in parts if isinstance(part, kinds)}
        return self._replace(**pinned)

    def pack(self, room: int) -> "Batch":
        """Return the batch with its sentences packed as well, in streams of ``room`` tokens."""
        src, tgt_in, tgt_out = (part.numpy() for part in (self.src, self.tgt_in, self.tgt_out))
        return self._replace(packed=pack_sentences(src, tgt_in, tgt_out, self.lengths, room))

    def round_up(self, longest: Longest) -> "Batch":
        """Return the batch with its rounded form."""
        padded = self.src, self.tgt_in, self.tgt_out, self.tgt_mask
        return self._replace(rounded=rounded_form(longest, *(part.numpy() for part in padded)))


class EncodedPairs(Dataset[Batch]):
    """Encoded sentence pairs; an item is a whole batch, selected by an array of rows."""

    def __init__(self, ids: NDArray[np.int64] | None, src: Sequences, tgt: Sequences):
        """Store the pairs; ``ids`` are the sentence indices in the split, None for all sentences.

        ``src`` and ``tgt`` hold no BOS and no EOS.
        """
        self._ids = ids
        self.src = src
        self.tgt = tgt

    @property
    def ids(self) -> NDArray[np.int64]:
        """Index of each sentence in the split ``(pair,)``."""
        return np.arange(len(self)) if self._ids is None else self._ids

    @property
    def sides(self) -> tuple[Sequences, Sequences]:
        """Source and target."""
        return self.src, self.tgt

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of source and target tokens of each pair ``(2, pair)``."""
        return np.stack([side.lengths for side in self.sides]).astype(np.int64)

    @property
    def longest(self) -> NDArray[np.int64]:
        """Number of tokens of the longer side of each pair ``(pair,)``, EOS included."""
        return np.maximum(self.src.lengths, self.tgt.lengths) + 1

    @property
    def tokens(self) -> int:
        """Number of real target tokens, EOS included."""
        return int(self.tgt.lengths.sum()) + len(self)

    def __len__(self) -> int:
        return len(self.src.lengths)

    def __getitem__(self, rows: NDArray[np.int64]) -> Batch:
        return collate(self.select(rows))

    def select(self, rows: NDArray[np.int64]) -> "EncodedPairs":
        """Return the pairs of ``rows``, with the ids of the pairs."""
        ids = rows if self._ids is None else self._ids[rows]
        return EncodedPairs(ids, self.src.select(rows), self.tgt.select(rows))


def collate(pairs: EncodedPairs) -> Batch:
    """Pad all of ``pairs`` into one batch."""
    src, tgt = _padded(pairs.src), _padded(pairs.tgt)
    tgt_in = np.full_like(tgt, BOS)
    tgt_in[:, 1:] = tgt[:, :-1]
    src_mask, tgt_mask = _end(src, pairs.src), _end(tgt, pairs.tgt)
    lengths = pairs.lengths
    return Batch(
        ids=pairs.ids,
        src=torch.from_numpy(src),
        src_mask=torch.from_numpy(src_mask),
        tgt_in=torch.from_numpy(tgt_in),
        tgt_out=torch.from_numpy(tgt),
        tgt_mask=torch.from_numpy(tgt_mask),
        lengths=lengths + 1,
        tgt_places=torch.from_numpy(np.flatnonzero(tgt_mask)),
        update_ids=pairs.ids,
        update_lengths=lengths,
        update_tokens=pairs.tokens,
        weight=1.0,
        piece=0,
    )


def as_built(batch: Any) -> Any:
    """Return a ``Batch`` as it is: the ``collate_fn`` of a loader whose items are batches.

    Torch's own function would make tensors of the arrays that stay on the host.
    """
    return batch


def _padded(sequences: Sequences) -> NDArray[np.int64]:
    """Return the tokens as ``(sequence, longest + 1)``, with at least one PAD after each."""
    lengths = sequences.lengths
    columns = np.arange(lengths.max(initial=0))
    # To read what follows a short sequence, too, is faster than to choose the real tokens.
    read = sequences.tokens.take(sequences.starts[:, None] + columns, mode="clip")
    out = np.full((len(lengths), len(columns) + 1), PAD, np.int64)
    np.copyto(out[:, :-1], read, where=columns < lengths[:, None])
    return out


def _end(padded: NDArray[np.int64], sequences: Sequences) -> NDArray[np.bool_]:
    """Write EOS after each sequence, and return the mask of real tokens."""
    lengths = sequences.lengths
    padded[np.arange(len(lengths)), lengths] = EOS
    return np.arange(padded.shape[1]) <= lengths[:, None]


def sources_alone(sequences: Sequence[Sequence[int]]) -> EncodedPairs:
    """Return pairs with an empty target side; ``ids`` are the indices in ``sequences``."""
    nothing = Sequences.of([[] for _ in sequences])
    return EncodedPairs(np.arange(len(sequences)), Sequences.of(sequences), nothing)
