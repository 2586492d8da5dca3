"""Position encodings of a Transformer, at the input or in the self-attentions."""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

Positions = Literal["sinusoidal", "learned", "rotary", "relative", "none"]


class InputPositions(nn.Module):
    """No positions at the input, for position encodings in the self-attentions."""

    def forward(self, embedded: Tensor, start: int) -> Tensor:
        """Add positions from ``start`` to ``embedded`` ``(batch, positions, width)``."""
        return embedded


class Sinusoidal(InputPositions):
    """Add ``sinusoids`` (Vaswani et al. 2017, section 3.5)."""

    @override
    def forward(self, embedded: Tensor, start: int) -> Tensor:
        _, length, width = embedded.shape
        positions = torch.arange(start, start + length, device=embedded.device)
        return embedded + sinusoids(positions, width, embedded.dtype).to(embedded.dtype)


class Learned(InputPositions):
    """Add a learned vector for each position (Vaswani et al. 2017, Table 3 E).

    Positions beyond the table share the last vector of the table.
    """

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    @override
    def forward(self, embedded: Tensor, start: int) -> Tensor:
        positions = torch.arange(start, start + embedded.shape[1], device=embedded.device)
        return embedded + self.table(positions.clamp(max=self.table.num_embeddings - 1))


class AttentionPositions(nn.Module):
    """No positions in an attention, to the source or with position encodings at the input."""

    reads_positions = False
    """Whether ``rotate`` or ``bias`` reads positions; if not, nobody counts positions."""

    def rotate(self, projected: Tensor, positions: Tensor) -> Tensor:
        """Rotate queries or keys ``(batch, heads, positions, key)`` at ``positions``."""
        return projected

    def bias(self, query: Tensor, positions: Tensor, keys: Tensor) -> Tensor | None:
        """Return the term added to the energies, ``(batch, heads, tgt, src)``; None for 0.

        Args:
            query: ``(batch, heads, tgt, key)``.
            positions: positions of the queries, ``(tgt,)``.
            keys: positions of the keys, ``(src,)``.
        """
        return None


class Rotary(AttentionPositions):
    """Rotate pairs of numbers by position (Su et al. 2021, arXiv 2104.09864, section 3.2.2).

    The angles are the angles of the sinusoids: energies depend on distances only.
    """

    reads_positions = True

    @override
    def rotate(self, projected: Tensor, positions: Tensor) -> Tensor:
        angles = sinusoids(positions, projected.shape[-1], projected.dtype)
        sines, cosines = angles.unflatten(1, (-1, 2)).unbind(-1)
        first, second = projected.unflatten(-1, (-1, 2)).unbind(-1)
        rotated = (first * cosines - second * sines, second * cosines + first * sines)
        return torch.stack(rotated, -1).flatten(-2).to(projected.dtype)


class Relative(AttentionPositions):
    """Add ``q_i · a_{j-i} / √d_k`` to the energies (Shaw et al. 2018, arXiv 1803.02155, eq. 4).

    One table for all heads (section 3.3). No vectors are added to the values: the paper finds no
    effect of such vectors (Table 3).
    """

    reads_positions = True

    def __init__(self, key_size: int, distance: int) -> None:
        super().__init__()
        self.distance = distance
        self.table = nn.Parameter(torch.empty(2 * distance + 1, key_size))
        nn.init.xavier_uniform_(self.table)

    @override
    def bias(self, query: Tensor, positions: Tensor, keys: Tensor) -> Tensor:
        *batch, _, size = query.shape
        by_distance = query @ self.table.T / math.sqrt(size)
        between = keys - positions.unsqueeze(1)
        index = between.clamp(-self.distance, self.distance) + self.distance
        return by_distance.gather(-1, index.expand(*batch, -1, -1))


def input_positions(kind: Positions, width: int, max_length: int) -> InputPositions:
    """Return the position encoding at the input of one side."""
    if kind == "sinusoidal":
        return Sinusoidal()
    return Learned(width, max_length) if kind == "learned" else InputPositions()


def attention_positions(kind: Positions, key_size: int, distance: int) -> AttentionPositions:
    """Return the position encoding of one self-attention."""
    if kind == "rotary":
        return Rotary()
    return Relative(key_size, distance) if kind == "relative" else AttentionPositions()


def sinusoids(positions: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return sines and cosines of ``(positions,)``, ``(positions, width)`` (section 3.5).

    The dtype is ``dtype``, but at least float32: half precision cannot distinguish far positions.
    """
    dtype = torch.promote_types(dtype, torch.float32)
    even = torch.arange(0, width, 2, device=positions.device, dtype=dtype)
    angles = positions.unsqueeze(1) * torch.exp(even * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
