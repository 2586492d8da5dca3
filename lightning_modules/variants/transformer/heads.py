"""Vaswani et al. 2017, section 3.2: attention by several heads."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lightning_modules.variants.transformer.positions import AttentionPositions


class KeysValues(NamedTuple):
    """Projected keys and values of one attention."""

    keys: Tensor
    """``(batch, heads, positions, key)``; turned already where positions are rotary."""
    values: Tensor
    """``(batch, heads, positions, value)``."""


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: ``softmax(QKᵀ/√d_k) V`` in ``heads`` parallel heads.

    It computes on its own device and answers on that of the queries, from which
    ``model.placement`` may keep it apart.

    Args:
        width: of what is read and returned.
        heads: how many.
        key_size: d_k, of each head.
        value_size: d_v, of each head.
        positions: how a self-attention knows the order of its inputs; None: it does not.
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
        self.query, self.key = (nn.Linear(width, heads * key_size) for _ in range(2))
        self.value = nn.Linear(width, heads * value_size)
        self.out = nn.Linear(heads * value_size, width)
        self.positions = positions or AttentionPositions()

    def prepare(self, inputs: Tensor, start: int = 0) -> KeysValues:
        """Project ``(batch, positions, width)``, the first at ``start``, to keys and values."""
        inputs = inputs.to(self.key.weight.device)
        keys = self.positions.rotate(self._split(self.key(inputs)), start)
        return KeysValues(keys, self._split(self.value(inputs)))

    def forward(
        self,
        inputs: Tensor,
        memory: KeysValues,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return ``(batch, tgt, width)`` and, if asked for, weights averaged over the heads.

        Args:
            inputs: where the queries come from, ``(batch, tgt, width)``; in a self-attention the
                last ``tgt`` of the positions in ``memory``.
            memory: from ``prepare``.
            mask: True where a position may be seen, broadcast to ``(batch, heads, tgt, src)``.
            causal: in a whole self-attention, let position t see positions up to t only.
            need_weights: compute the weights ``(batch, tgt, src)``, by the plain formula.
        """
        heads, weights = self._attend(inputs, memory, mask, causal, need_weights)
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
    ) -> tuple[Tensor, Tensor | None]:
        """Return ``(batch, heads, tgt, value)`` and, if asked for, weights of each head."""
        query = self._split(self.query(inputs.to(self.query.weight.device)))
        length, positions = query.shape[2], memory.keys.shape[2]
        query = self.positions.rotate(query, positions - length)
        bias = self.positions.bias(query, positions)
        # PyTorch's causal kernel takes no mask besides.
        only_causal = causal and mask is None and bias is None and not need_weights
        if causal and not only_causal:
            past = torch.ones(length, positions, dtype=torch.bool, device=query.device).tril()
            mask = past if mask is None else past & mask
        return attend(query, memory, added(bias, mask, query), only_causal, need_weights)

    def _split(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def added(bias: Tensor | None, mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Return what is added to the energies: ``bias``, and -∞ where ``mask`` hides a position."""
    if mask is None:
        return bias
    return (query.new_zeros(()) if bias is None else bias).masked_fill(~mask, float("-inf"))


def attend(
    query: Tensor, memory: KeysValues, bias: Tensor | None, causal: bool, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Return ``(batch, heads, tgt, value)`` and, if asked for, weights of each head."""
    # For one position after the other the formula takes half the time of the fused kernel.
    if not need_weights and query.shape[2] > 1:
        return _fused(query, memory, bias, causal), None
    energies = query @ memory.keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
    weights = (energies if bias is None else energies + bias).softmax(-1)
    return weights @ memory.values, weights


def _fused(query: Tensor, memory: KeysValues, bias: Tensor | None, causal: bool) -> Tensor:
    """PyTorch's kernel; on a CPU in float32, as its backward pass is seven times slower below."""
    if query.device.type != "cpu" or query.dtype != torch.bfloat16:
        return scaled_dot_product_attention(query, *memory, bias, is_causal=causal)
    with torch.autocast("cpu", enabled=False):
        keys, values = (part.float() for part in memory)
        bias = None if bias is None else bias.float()
        heads = scaled_dot_product_attention(query.float(), keys, values, bias, is_causal=causal)
        return heads.to(query.dtype)
