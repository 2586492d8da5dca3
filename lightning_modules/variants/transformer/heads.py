"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lightning_modules.kernels import LinearLayer
from lightning_modules.variants.transformer.positions import AttentionPositions

FEW = 8
"""Most positions of queries for which the formula is faster than PyTorch's fused kernel."""


class KeysValues(NamedTuple):
    """Projected keys and values of one attention."""

    keys: Tensor
    """``(batch, heads, positions, key)``, rotated for rotary positions."""
    values: Tensor
    """``(batch, heads, positions, value)``."""


class Places(NamedTuple):
    """Places of the queries and keys of a self-attention in their sentence."""

    queries: Tensor
    """Position of each query, ``(tgt,)``."""
    keys: Tensor
    """Position of each key, ``(src,)``."""
    visible: Tensor | None = None
    """True where a query may look, ``(batch, 1, tgt, src)``; None for everywhere."""


class MultiHeadAttention(nn.Module):
    """``softmax(QKᵀ/√d_k) V`` in ``heads`` parallel heads (section 3.2.2).

    Inputs move to the device of the parameters, and results move back to the device of the
    queries: ``model.placement`` may make these devices different.

    Args:
        width: width of inputs and results.
        heads: number of heads.
        key_size: d_k, of each head.
        value_size: d_v, of each head.
        positions: position encoding of a self-attention; None for no positions.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        key_size: int,
        value_size: int,
        positions: AttentionPositions | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = (LinearLayer(width, heads * key_size) for _ in range(2))
        self.value = LinearLayer(width, heads * value_size)
        self.out = LinearLayer(heads * value_size, width)
        self.positions = positions or AttentionPositions()

    def prepare(self, inputs: Tensor, positions: Tensor | None = None) -> KeysValues:
        """Project ``(batch, positions, width)`` to keys and values.

        ``positions`` ``(positions,)`` are those of the inputs; None for 0, 1, 2, …
        """
        inputs = inputs.to(self.key.weight.device)
        keys = self._split(self.key(inputs))
        if self.positions.reads_positions:
            if positions is None:
                positions = torch.arange(inputs.shape[1], device=inputs.device)
            keys = self.positions.rotate(keys, positions)
        return KeysValues(keys, self._split(self.value(inputs)))

    def forward(
        self,
        inputs: Tensor,
        memory: KeysValues,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        places: Places | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return results ``(batch, tgt, width)`` and weights averaged over the heads, or None.

        Args:
            inputs: inputs of the queries, ``(batch, tgt, width)``.
            memory: from ``prepare``.
            mask: True where a query may look, broadcast to ``(batch, heads, tgt, src)``.
            causal: in a whole self-attention, let position t attend only to positions up to t.
            need_weights: compute the weights ``(batch, tgt, src)``, by the plain formula.
            places: of a self-attention; None where queries and keys are those of one sentence.
        """
        heads, weights = self._attend(inputs, memory, mask, causal, need_weights, places)
        averaged = None if weights is None else weights.mean(1).to(inputs.device)
        return self.out(heads.transpose(1, 2).flatten(2)).to(inputs.device), averaged

    def head_weights(
        self, inputs: Tensor, memory: KeysValues, mask: Tensor | None = None
    ) -> Tensor:
        """Return the weights of each head, ``(batch, heads, tgt, src)``; see ``forward``."""
        _, weights = self._attend(inputs, memory, mask, causal=False, need_weights=True)
        assert weights is not None
        return weights.to(inputs.device)

    def _attend(
        self,
        inputs: Tensor,
        memory: KeysValues,
        mask: Tensor | None,
        causal: bool,
        need_weights: bool,
        places: Places | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return results ``(batch, heads, tgt, value)`` and the weights of each head, or None."""
        query = self._split(self.query(inputs.to(self.query.weight.device)))
        length, positions = query.shape[2], memory.keys.shape[2]
        if places is not None and places.visible is not None:
            mask = places.visible if mask is None else places.visible & mask
        bias = None
        if self.positions.reads_positions:
            if places is None:
                counted = torch.arange(max(length, positions), device=query.device)
                places = Places(counted[:length], counted[:positions])
            query = self.positions.rotate(query, places.queries)
            bias = self.positions.bias(query, places.queries, places.keys)
        # PyTorch's causal kernel takes no further mask.
        only_causal = causal and mask is None and bias is None and not need_weights
        if causal and not only_causal:
            earlier = torch.ones(length, positions, dtype=torch.bool, device=query.device).tril()
            mask = earlier if mask is None else earlier & mask
        return attend(query, memory, bias, mask, only_causal, need_weights)

    def _split(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def attend(
    query: Tensor,
    memory: KeysValues,
    bias: Tensor | None,
    mask: Tensor | None,
    causal: bool,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Return results ``(batch, heads, tgt, value)``, and the weights of each head if needed.

    Args:
        query: ``(batch, heads, tgt, key)``.
        memory: projected keys and values.
        bias: term added to the energies, ``(batch, heads, tgt, src)``; None for 0.
        mask: True where a query may look, broadcast to ``(batch, heads, tgt, src)``; None for
            everywhere.
        causal: let position t attend only to positions up to t, without bias and mask.
        need_weights: return the weights ``(batch, heads, tgt, src)``, not None.
    """
    # For few positions, as in a search, the formula is faster than the fused kernel.
    if not need_weights and (causal or query.shape[2] > FEW):
        return _fused(query, memory, added(bias, mask, query), causal), None
    energies = query @ memory.keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if bias is not None:
        energies = energies + bias
    if mask is not None:
        energies = torch.where(mask, energies, float("-inf"))
    weights = energies.softmax(-1)
    return weights @ memory.values, weights if need_weights else None


def added(bias: Tensor | None, mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Return the term added to the energies: ``bias``, and -∞ where ``mask`` is False.

    ``bias`` and ``mask`` broadcast to ``(batch, heads, tgt, src)``; ``query`` gives the dtype.
    """
    if mask is None:
        return bias
    return (query.new_zeros(()) if bias is None else bias).masked_fill(~mask, float("-inf"))


def _fused(query: Tensor, memory: KeysValues, bias: Tensor | None, causal: bool) -> Tensor:
    """Return ``(batch, heads, tgt, value)`` from PyTorch's kernel.

    On a CPU in float32: the backward pass in bfloat16 is seven times slower.
    """
    if query.device.type != "cpu" or query.dtype != torch.bfloat16:
        return scaled_dot_product_attention(query, *memory, bias, is_causal=causal)
    with torch.autocast("cpu", enabled=False):
        keys, values = (part.float() for part in memory)
        bias = None if bias is None else bias.float()
        heads = scaled_dot_product_attention(query.float(), keys, values, bias, is_causal=causal)
        return heads.to(query.dtype)
