"""What the recurrent decoder reads and keeps: the encoded source, and the state between steps."""

from typing import NamedTuple

import torch
from torch import Tensor

from lightning_modules.attention import AttentionMemory
from lightning_modules.variants.recurrent.unrolled_cells import CellState


class RecurrentMemory(NamedTuple):
    """The encoded source, which no step changes; unused parts are None."""

    start: CellState
    """First state of the decoder."""
    attention: AttentionMemory | None
    summary: Tensor | None
    """The whole source in one vector, ``(batch, hidden)``."""
    language: Tensor | None
    """Embedding of the target language's tag, ``(batch, embedding)``."""
    src: int
    """Number of source positions, without those that pad ``attention`` for a compiled step."""


class RecurrentState(NamedTuple):
    """The decoder before step t; unused parts are None."""

    cells: CellState
    """``s_{t-1}``."""
    position: Tensor
    """t, ``(batch,)``."""
    context: Tensor | None
    """``c_{t-1}``, ``(batch, memory)``, for a query with the context."""
    features: Tensor | None
    """The last readout, ``(batch, readout)``, for input feeding."""
    past: AttentionMemory | None
    """``s_0`` to ``s_{t-2}``, for intra-attention."""


def concat_present(*parts: Tensor | None) -> Tensor:
    """Concatenate all parts that are not None along the last dimension."""
    present = [part for part in parts if part is not None]
    return present[0] if len(present) == 1 else torch.cat(present, -1)


def cut(weights: Tensor | None, memory: RecurrentMemory) -> Tensor | None:
    """Return weights ``(…, src)`` without positions that pad the memory of a compiled step."""
    return None if weights is None else weights[..., : memory.src]


def by_row(tensor: Tensor) -> Tensor:
    """Return ``(sentences, rows each, …)`` as ``(rows, …)``."""
    return tensor.flatten(0, 1)
