"""Samplers that divide the batches of a single process among several ranks.

The batch of an update is cut into pieces here; ``lightning_modules/ranks/updates.py``
says how many pieces each rank computes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from datamodules.batching.batches import Batch, EncodedPairs, collate
from datamodules.batching.bpe_dropout import BpeDropout
from datamodules.batching.rounded import Longest
from datamodules.batching.sampler import TokenBatchSampler


class Place(NamedTuple):
    """The place of this process among the ranks that train one model together."""

    rank: int = 0
    ranks: int = 1
    pieces: int = 1  # number of pieces of an update, over all ranks; a multiple of ``ranks``


class UpdatePiece(NamedTuple):
    """A part of an update's batch."""

    rows: NDArray[np.int64]  # rows of the whole update
    number: int
    pieces: int
    epoch: int


class PieceSampler(Sampler[UpdatePiece]):
    """Sampler of the pieces of every update that belong to one rank.

    The pieces depend only on the update and on the number of pieces, so the same number of pieces
    makes the same update with any number of ranks. Lightning calls ``set_epoch`` on the ``sampler``
    of a data loader.
    """

    def __init__(self, updates: TokenBatchSampler, place: Place) -> None:
        self._updates = updates
        self._place = place

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which decides the order of the next pass."""
        self._updates.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._updates) * self._place.pieces // self._place.ranks

    def __iter__(self) -> Iterator[UpdatePiece]:
        rank, ranks, pieces = self._place
        epoch = self._updates.epoch
        for rows in self._updates:
            for number in range(rank, pieces, ranks):
                yield UpdatePiece(rows, number, pieces, epoch)


class Pieces(Dataset[Batch]):
    """Encoded sentence pairs; an item is a piece of an update."""

    def __init__(
        self,
        pairs: EncodedPairs,
        dropout: BpeDropout | None = None,
        rounding: Longest | None = None,
        room: int | None = None,
    ) -> None:
        """Store the pairs; ``dropout`` cuts the sentences of an update anew.

        Batches have a rounded form too, up to the lengths of ``rounding``, unless it is None, and
        are packed too, in streams of ``room`` tokens, unless it is None.
        """
        self.pairs = pairs
        self.dropout = dropout
        self.rounding = rounding
        self.room = room

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, piece: UpdatePiece) -> Batch:
        """Return a piece of an update."""
        batch = self._padded(piece)
        if self.rounding is not None:
            batch = batch.round_up(self.rounding)
        return batch if self.room is None else batch.pack(self.room)

    def _padded(self, piece: UpdatePiece) -> Batch:
        """Return every ``pieces``-th sentence of the update, so that pieces are alike in length.

        If the update has fewer sentences than pieces, the remaining pieces repeat the last sentence
        with weight 0, so that every rank has a batch.
        """
        rows, number, pieces, epoch = piece
        update = self.dropout.cut(rows, epoch) if self.dropout else self.pairs.select(rows)
        if pieces == 1:
            return collate(update)
        chosen = np.arange(len(rows))[number::pieces]
        batch = update[chosen if len(chosen) else np.array([-1])]
        return batch._replace(
            update_ids=update.ids,
            update_lengths=update.lengths,
            update_tokens=update.tokens,
            weight=batch.update_tokens / update.tokens if len(chosen) else 0.0,
            piece=number,
        )


class WholeBatches(Sampler[NDArray[np.int64]]):
    """Sampler that gives batch *i* to rank *i* modulo ``ranks``, as a single rank would decode it.

    Every rank gets the same number of batches, so some batches are given twice if the division
    leaves a remainder. The sentence ids show the repeats.
    """

    def __init__(self, batches: TokenBatchSampler, place: Place) -> None:
        self._batches = batches
        self._place = place

    def __len__(self) -> int:
        return -(-len(self._batches) // self._place.ranks)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        batches = list(self._batches)
        for turn in range(len(self)):
            yield batches[(turn * self._place.ranks + self._place.rank) % len(batches)]
