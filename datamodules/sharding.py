"""What each of several ranks gets of the batches that one rank alone would get."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from datamodules.batching import Batch, EncodedPairs, LengthBatchSampler


class Place(NamedTuple):
    """Which of the processes that train one model together this is."""

    rank: int = 0
    ranks: int = 1
    pieces: int = 1
    """Of an update, over all ranks: a multiple of their number."""


class Piece(NamedTuple):
    """A part of an update's batch."""

    rows: NDArray[np.int64]
    """Of the whole update."""
    number: int
    pieces: int


class PieceSampler(Sampler[Piece]):
    """The pieces of every update that belong to one rank.

    The pieces depend on the update and on their number alone, so the same pieces make the same
    update however many ranks there are. Lightning calls ``set_epoch`` on the ``sampler`` of a data
    loader.
    """

    def __init__(self, updates: LengthBatchSampler, place: Place) -> None:
        self._updates = updates
        self._place = place

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass."""
        self._updates.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._updates) * self._place.pieces // self._place.ranks

    def __iter__(self) -> Iterator[Piece]:
        rank, ranks, pieces = self._place
        for rows in self._updates:
            for number in range(rank, pieces, ranks):
                yield Piece(rows, number, pieces)


class Pieces(Dataset[Batch]):
    """Encoded sentence pairs; an item is a piece of an update."""

    def __init__(self, pairs: EncodedPairs) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, piece: Piece) -> Batch:
        """Every ``pieces``-th sentence, so that the pieces are alike in length.

        Where an update has fewer sentences than pieces, those left over repeat its last sentence
        without weight, so that no rank has nothing to do.
        """
        rows, number, pieces = piece
        if pieces == 1:
            return self.pairs[rows]
        update, own = self.pairs.select(rows), rows[number::pieces]
        batch = self.pairs[own if len(own) else rows[-1:]]
        return batch._replace(
            update_ids=torch.from_numpy(update.ids),
            update_tokens=update.tokens,
            weight=batch.update_tokens / update.tokens if len(own) else 0.0,
            piece=number,
        )


class WholeBatches(Sampler[NDArray[np.int64]]):
    """Batch *i* for rank *i* modulo their number: each is decoded just as one rank alone does.

    Every rank gets as many; where they do not come out even, some batches are given twice. Their
    sentences are known by their ids.
    """

    def __init__(self, batches: LengthBatchSampler, place: Place) -> None:
        self._batches = batches
        self._place = place

    def __len__(self) -> int:
        return -(-len(self._batches) // self._place.ranks)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        batches = list(self._batches)
        for turn in range(len(self)):
            yield batches[(turn * self._place.ranks + self._place.rank) % len(batches)]
