"""Positions of a Transformer, at its input and in its self-attentions."""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

Positions = Literal["sinusoidal", "learned", "rotary", "relative", "none"]


class InputPositions(nn.Module):
    """No positions at the input, for position encodings in the self-attentions."""

    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Add ``positions`` ``(positions,)`` to ``embedded`` ``(…, positions, width)``."""
        return embedded


class Sinusoidal(InputPositions):
    """Add ``sinusoids`` (Vaswani et al. 2017, section 3.5)."""

    @override
    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        encoded = sinusoids(positions, embedded.shape[-1], embedded.dtype)
        return embedded + encoded.to(embedded.dtype)


class LearnedPositions(InputPositions):
    """Add a learned vector for each position (Vaswani et al. 2017, Table 3 E).

    Positions beyond the table share its last vector.
    """

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    @override
    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
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

        ``positions`` ``(tgt,)`` are those of the queries, ``keys`` ``(src,)`` those of the keys.
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

    One table for all heads (section 3.3). Nothing is added to the values, since the paper finds no
    effect of that (Table 3).
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


def sinusoids(positions: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return sines and cosines of ``(positions,)``, ``(positions, width)`` (section 3.5).

    The dtype is ``dtype``, but at least float32: half precision cannot distinguish far positions.
    """
    dtype = torch.promote_types(dtype, torch.float32)
    even = torch.arange(0, width, 2, device=positions.device, dtype=dtype)
    angles = positions.unsqueeze(1) * torch.exp(even * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
