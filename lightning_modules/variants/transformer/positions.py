"""Positions of a Transformer, at its input and in its self-attentions."""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding
from typing_extensions import override

Positions = Literal[
    "none",
    # At the input.
    "sinusoidal",
    "shifted",
    "learned",
    "gru",
    "lstm",
    # In the self-attentions.
    "rotary",
    "relative",
    "t5",
    "alibi",
]
IN_SELF_ATTENTION = ("rotary", "relative", "t5", "alibi")
"""Kinds of positions that a side without self-attention cannot have."""


class InputPositions(nn.Module):
    """No positions at the input, for those in the self-attentions or those of an RNN layer."""

    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Add ``positions`` ``(positions,)`` to ``embedded`` ``(…, positions, width)``.

        Without further dimensions, ``embedded`` are packed sentences.
        """
        return embedded


class Sinusoidal(InputPositions):
    """Add ``sinusoids`` (Vaswani et al. 2017, section 3.5)."""

    @override
    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        encoded = sinusoids(positions, embedded.shape[-1], embedded.dtype)
        return embedded + encoded.to(embedded.dtype)


class ShiftedSinusoids(Sinusoidal):
    """In training, count the positions of each sentence from a random number.

    SHAPE (Kiyono et al. 2021, arXiv 2109.05644): the number is drawn uniformly from 0 to
    ``max_shift`` for each sentence of each batch, and on each side independently.
    """

    def __init__(self, max_shift: int) -> None:
        super().__init__()
        self.max_shift = max_shift

    @override
    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        if not self.training:
            return super().forward(embedded, positions)
        draws = torch.randint(self.max_shift + 1, (len(embedded), 1), device=embedded.device)
        if embedded.dim() == 2:  # packed sentences, each from its position 0
            draws = draws.flatten()[(positions == 0).cumsum(0) - 1]
        return super().forward(embedded, positions + draws)


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
        """Return the term added to the energies, ``(batch or 1, heads, tgt, src)``; None for 0.

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


class BucketBias(AttentionPositions):
    """Add a learned number for the distance ``j - i`` to the energies (Raffel et al. 2020).

    T5's bias (arXiv 1910.10683, section 2.1): half of the buckets hold one distance each, the
    others distances that grow logarithmically; from ``distance`` on, all share the last bucket.
    Each head has its own numbers. Self-attentions of one side share one module. ``causal`` ones
    look back only; others have half of the buckets for each direction. Unlike T5's, energies are
    divided by √d_k. Raises ``ValueError`` for numbers of buckets or distances that do not fit
    together, naming the override to change.
    """

    reads_positions = True
    buckets: Tensor  # of each distance, `(2 × distance + 1,)`

    def __init__(self, heads: int, width: int, buckets: int, distance: int, causal: bool) -> None:
        super().__init__()
        least = 2 if causal else 4
        if buckets < least or (buckets % 2 and not causal):
            even = "" if causal else "even and "
            raise ValueError(f"model.bias_buckets={buckets}: must be {even}at least {least}")
        near = buckets // least
        if distance <= near:
            raise ValueError(
                f"model.bias_distance={distance}: must be larger than {near}, the number of "
                f"distances with a bucket each, of model.bias_buckets={buckets}"
            )
        self.distance = distance
        self.table = nn.Parameter(torch.empty(buckets, heads))
        nn.init.normal_(self.table, std=width**-0.5)
        offsets = range(-distance, distance + 1)
        numbers = [bucket(offset, buckets, distance, causal) for offset in offsets]
        self.register_buffer("buckets", torch.tensor(numbers), persistent=False)

    @override
    def bias(self, query: Tensor, positions: Tensor, keys: Tensor) -> Tensor:
        between = keys - positions.unsqueeze(1)
        index = self.buckets[between.clamp(-self.distance, self.distance) + self.distance]
        return embedding(index, self.table).permute(2, 0, 1).unsqueeze(0).to(query.dtype)


def bucket(offset: int, buckets: int, distance: int, causal: bool) -> int:
    """Return the bucket of a key at ``offset`` from its query; see ``BucketBias``."""
    if not causal:
        half = buckets // 2
        return bucket(-abs(offset), half, distance, causal=True) + half * (offset > 0)
    far, near = max(-offset, 0), buckets // 2
    if far < near:
        return far
    steps = buckets - near
    # log(far / near) / log(distance / near) ≥ k / steps in whole numbers: logarithms are rounded.
    reached = [far**steps * near**k >= near**steps * distance**k for k in range(1, steps)]
    return near + sum(reached)


class LinearBias(AttentionPositions):
    """Subtract ``m · |i - j|`` from the energies (Press et al. 2022, arXiv 2108.12409, ALiBi).

    Each head has its slope m. The paper's models only look back; here an encoder looks both ways
    alike.
    """

    reads_positions = True

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    @override
    def bias(self, query: Tensor, positions: Tensor, keys: Tensor) -> Tensor:
        between = (keys - positions.unsqueeze(1)).abs()
        steepness = slopes(self.heads, query.device, query.dtype)
        return (-steepness.view(1, -1, 1, 1) * between).to(query.dtype)


def slopes(heads: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the slope of each head, ``(heads,)``: 2^(-8h/n) for h = 1, …, n (section 3).

    For a number of heads that is no power of two, as the authors' code: the slopes of the power
    below it, then every second slope of the power above it. At least float32, as ``sinusoids``.
    """
    dtype = torch.promote_types(dtype, torch.float32)
    power = 1 << (heads.bit_length() - 1)
    first = torch.arange(1, power + 1, device=device, dtype=dtype) * (8 / power)
    others = torch.arange(1, 2 * (heads - power) + 1, 2, device=device, dtype=dtype) * (4 / power)
    return torch.cat([first, others]).neg().exp2()


def sinusoids(positions: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return sines and cosines of positions ``(…)``, ``(…, width)`` (section 3.5).

    The dtype is ``dtype``, but at least float32: half precision cannot distinguish far positions.
    """
    dtype = torch.promote_types(dtype, torch.float32)
    even = torch.arange(0, width, 2, device=positions.device, dtype=dtype)
    angles = positions.unsqueeze(-1) * torch.exp(even * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
