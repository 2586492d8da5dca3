"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lightning_modules.kernels.packed_attention import Spans, packed_attention
from lightning_modules.kernels.precision import fused_attention_type
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.variants.transformer.positions import AttentionPositions

FEW = 8  # most positions of queries for which the formula is faster than PyTorch's fused kernel


class KeysValues(NamedTuple):
    """Projected keys and values of one attention."""

    keys: Tensor  # `(batch, heads, positions, key)`, rotated for rotary positions
    values: Tensor  # `(batch, heads, positions, value)`

    @torch.compiler.disable  # memory of a CUDA graph would be written over by the next step
    def append(self, new: "KeysValues") -> "KeysValues":
        """Return these keys and values and those of further positions."""
        return KeysValues(*(torch.cat(pair, 2) for pair in zip(self, new, strict=True)))


class MultiHeadAttention(nn.Module):
    """``softmax(QKᵀ/√d_k) V`` in ``heads`` parallel heads (section 3.2.2).

    Inputs move to the device of the parameters, and results move back to that of the queries:
    ``model.placement`` may make these devices different. ``key_size`` is d_k, ``value_size`` d_v.
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

    def prepare(self, inputs: Tensor, start: int = 0) -> KeysValues:
        """Project ``(batch, positions, width)``, positions from ``start``, to keys and values."""
        inputs = inputs.to(self.key.weight.device)
        keys = self._split(self.key(inputs))
        if self.positions.reads_positions:
            last = start + inputs.shape[1]
            keys = self.positions.rotate(keys, torch.arange(start, last, device=inputs.device))
        return KeysValues(keys, self._split(self.value(inputs)))

    def forward(
        self,
        inputs: Tensor,
        memory: KeysValues,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        start: int = 0,
    ) -> tuple[Tensor, Tensor | None]:
        """Return results ``(batch, tgt, width)``, and weights averaged over the heads if needed.

        The mask is True where a query may look, broadcast to ``(batch, heads, tgt, src)``. With
        ``causal``, position t of a whole self-attention attends only to positions up to t. Queries
        begin at position ``start``, keys at 0.
        """
        heads, weights = self._attend(inputs, memory, mask, causal, need_weights, start)
        averaged = None if weights is None else weights.mean(1).to(inputs.device)
        return self.out(heads.transpose(1, 2).flatten(2)).to(inputs.device), averaged

    def attend_packed(self, inputs: Tensor, memory: Tensor, spans: Spans) -> Tensor:
        """Return results ``(queries, width)`` of packed sentences, as ``forward`` of padded ones.

        Queries come from ``inputs`` ``(queries, width)``, keys from ``memory`` ``(keys, width)``.
        """
        query, keys, values = (
            project(given).unflatten(-1, (self.heads, -1))
            for project, given in ((self.query, inputs), (self.key, memory), (self.value, memory))
        )
        if self.positions.reads_positions:
            query, keys = (
                self.positions.rotate(projected.transpose(0, 1), spans.positions).transpose(0, 1)
                for projected in (query, keys)
            )
        return self.out(packed_attention(query, keys, values, spans).flatten(1))

    def head_weights(
        self, inputs: Tensor, memory: KeysValues, mask: Tensor | None = None
    ) -> Tensor:
        """Return the weights of each head, ``(batch, heads, tgt, src)``; see ``forward``."""
        _, weights = self._attend(inputs, memory, mask, causal=False, need_weights=True)
        assert weights is not None
        return weights.to(inputs.device)

    def attend_in_slots(
        self, inputs: Tensor, known: KeysValues, slots: Tensor, positions: Tensor, visible: Tensor
    ) -> Tensor:
        """Return results ``(batch, rows, width)`` of one position of each row.

        The keys and values of this position are first written into their ``slots`` ``(rows,)`` of
        ``known``. ``positions`` ``(slots,)`` are those of all slots; ``visible`` ``(batch, rows,
        slots)`` is True where a row may look.
        """
        query, keys, values = (
            self._split(layer(inputs)) for layer in (self.query, self.key, self.value)
        )
        places = positions.index_select(0, slots)
        query, keys = (self.positions.rotate(part, places) for part in (query, keys))
        known.keys.index_copy_(2, slots, keys)
        known.values.index_copy_(2, slots, values)
        energies = query @ known.keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
        if (bias := self.positions.bias(query, places, positions)) is not None:
            energies = energies + bias
        weights = torch.where(visible.unsqueeze(1), energies, float("-inf")).softmax(-1)
        return self.out((weights @ known.values).transpose(1, 2).flatten(2))

    def _attend(
        self,
        inputs: Tensor,
        memory: KeysValues,
        mask: Tensor | None,
        causal: bool,
        need_weights: bool,
        start: int = 0,
    ) -> tuple[Tensor, Tensor | None]:
        """Return results ``(batch, heads, tgt, value)`` and the weights of each head, or None."""
        query = self._split(self.query(inputs.to(self.query.weight.device)))
        length, positions = query.shape[2], memory.keys.shape[2]
        bias = None
        if self.positions.reads_positions:
            counted = torch.arange(max(start + length, positions), device=query.device)
            places = counted[start : start + length]
            query = self.positions.rotate(query, places)
            bias = self.positions.bias(query, places, counted[:positions])
        # PyTorch's causal kernel takes no further mask.
        only_causal = causal and mask is None and bias is None and not need_weights
        if causal and not only_causal:
            earlier = torch.ones(length, positions, dtype=torch.bool, device=query.device).tril()
            mask = earlier if mask is None else earlier & mask
        # For few positions, as in a search, the formula is faster than the fused kernel.
        if not need_weights and (only_causal or length > FEW):
            if mask is not None:
                bias = query.new_zeros(()) if bias is None else bias
                bias = bias.masked_fill(~mask, float("-inf"))
            return _fused(query, memory, bias, only_causal), None
        energies = query @ memory.keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
        if bias is not None:
            energies = energies + bias
        if mask is not None:
            energies = torch.where(mask, energies, float("-inf"))
        weights = energies.softmax(-1)
        return weights @ memory.values, weights if need_weights else None

    def _split(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _fused(query: Tensor, memory: KeysValues, bias: Tensor | None, causal: bool) -> Tensor:
    """Return ``(batch, heads, tgt, value)`` from PyTorch's kernel."""
    dtype = fused_attention_type(query)
    if dtype == query.dtype:
        return scaled_dot_product_attention(query, *memory, bias, is_causal=causal)
    with torch.autocast(query.device.type, enabled=False):
        keys, values = (part.to(dtype) for part in memory)
        bias = None if bias is None else bias.to(dtype)
        heads = scaled_dot_product_attention(query.to(dtype), keys, values, bias, is_causal=causal)
        return heads.to(query.dtype)
