"""Where a Transformer learns of the order of tokens: at its input or in its self-attentions."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

Positions = Literal["sinusoidal", "learned", "rotary", "relative"]


class InputPositions(nn.Module):
    """Nothing at the input: positions that the self-attentions tell."""

    def forward(self, embedded: Tensor, start: int) -> Tensor:
        """``(batch, positions, width)``, the first at ``start`` -> the same with their order."""
        return embedded


class Sinusoidal(InputPositions):
    """Vaswani et al. 2017, section 3.5: ``sinusoids`` are added."""

    def forward(self, embedded: Tensor, start: int) -> Tensor:
        """See the base class."""
        _, length, width = embedded.shape
        positions = torch.arange(start, start + length, device=embedded.device)
        return embedded + sinusoids(positions, width, embedded.dtype).to(embedded.dtype)


class Learned(InputPositions):
    """Vaswani et al. 2017, Table 3 (E): a learned vector for each position is added.

    Positions beyond the table share its last vector.
    """

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    def forward(self, embedded: Tensor, start: int) -> Tensor:
        """See the base class."""
        positions = torch.arange(start, start + embedded.shape[1], device=embedded.device)
        return embedded + self.table(positions.clamp(max=self.table.num_embeddings - 1))


class AttentionPositions(nn.Module):
    """Nothing in an attention: to the source, or of positions that the input tells."""

    def rotate(self, projected: Tensor, start: int) -> Tensor:
        """Turn queries or keys ``(batch, heads, positions, key)``, the first at ``start``."""
        return projected

    def bias(self, query: Tensor, positions: int) -> Tensor | None:
        """Return what to add to the energies, ``(batch, heads, tgt, src)``.

        Args:
            query: ``(batch, heads, tgt, key)``; its positions are the last of the keys'.
            positions: of the keys.
        """
        return None


class Rotary(AttentionPositions):
    """Su et al. 2021 (arXiv 2104.09864), section 3.2.2: pairs turned by angles of a position.

    The angles are those of the sinusoids, so energies depend on distances only.
    """

    def rotate(self, projected: Tensor, start: int) -> Tensor:
        """See the base class."""
        length, size = projected.shape[-2:]
        positions = torch.arange(start, start + length, device=projected.device)
        angles = sinusoids(positions, size, projected.dtype)
        sines, cosines = angles.unflatten(1, (-1, 2)).unbind(-1)
        first, second = projected.unflatten(-1, (-1, 2)).unbind(-1)
        turned = (first * cosines - second * sines, second * cosines + first * sines)
        return torch.stack(turned, -1).flatten(-2).to(projected.dtype)


class Relative(AttentionPositions):
    """Shaw et al. 2018 (arXiv 1803.02155), eq. 4: ``q_i · a_{j-i} / √d_k`` on the energies.

    One table for all heads (section 3.3). No vectors are added to the values: the paper finds
    that they change nothing (Table 3).
    """

    def __init__(self, key_size: int, distance: int) -> None:
        super().__init__()
        self.distance = distance
        self.table = nn.Parameter(torch.empty(2 * distance + 1, key_size))
        nn.init.xavier_uniform_(self.table)

    def bias(self, query: Tensor, positions: int) -> Tensor:
        """See the base class."""
        *batch, length, size = query.shape
        by_distance = query @ self.table.T / math.sqrt(size)
        keys = torch.arange(positions, device=query.device)
        between = keys - keys[positions - length :].unsqueeze(1)
        index = between.clamp(-self.distance, self.distance) + self.distance
        return by_distance.gather(-1, index.expand(*batch, -1, -1))


def input_positions(kind: Positions, width: int, max_length: int) -> InputPositions:
    """Return what ``kind`` does to the embeddings of one side."""
    if kind == "sinusoidal":
        return Sinusoidal()
    return Learned(width, max_length) if kind == "learned" else InputPositions()


def attention_positions(kind: Positions, key_size: int, distance: int) -> AttentionPositions:
    """Return what ``kind`` does in one self-attention."""
    if kind == "rotary":
        return Rotary()
    return Relative(key_size, distance) if kind == "relative" else AttentionPositions()


def sinusoids(positions: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Section 3.5: sines and cosines of geometric wavelengths, ``(positions, width)``.

    In ``dtype``, but at least float32: a half-precision number tells no two far positions apart.
    """
    dtype = torch.promote_types(dtype, torch.float32)
    even = torch.arange(0, width, 2, device=positions.device, dtype=dtype)
    angles = positions.unsqueeze(1) * torch.exp(even * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
