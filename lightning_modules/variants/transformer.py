"""Vaswani et al. 2017 (arXiv 1706.03762): the Transformer."""

import math
from collections.abc import Iterable
from typing import NamedTuple, cast

import torch
from pydantic import validate_call
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lightning_modules.variants.arguments import ARBITRARY, Dropout, Size
from lightning_modules.variants.base import Decoded, EncoderDecoder, Step


class KeysValues(NamedTuple):
    """Projected keys and values of one attention, each ``(batch, heads, positions, head)``."""

    keys: Tensor
    values: Tensor


class TransformerMemory(NamedTuple):
    """Each decoder layer's view of the encoded source: projected once, read at every step."""

    layers: tuple[KeysValues, ...]
    mask: Tensor
    """``(batch, src)``, True where a token is real."""


class TransformerState(NamedTuple):
    """The target so far: one cache for each decoder layer."""

    layers: tuple[KeysValues, ...]


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: ``softmax(QKᵀ/√d_k) V`` in ``heads`` parallel heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def prepare(self, inputs: Tensor) -> KeysValues:
        """Project ``(batch, positions, width)`` to keys and values."""
        return KeysValues(self._split(self.key(inputs)), self._split(self.value(inputs)))

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
            inputs: where the queries come from, ``(batch, tgt, width)``.
            memory: from ``prepare``.
            mask: True where a position may be seen, broadcast to ``(batch, heads, tgt, src)``.
            causal: let position t see positions up to t only.
            need_weights: compute the weights ``(batch, tgt, src)``, by the plain formula.
        """
        query = self._split(self.query(inputs))
        if need_weights:
            energies = query @ memory.keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
            if mask is not None:
                energies = energies.masked_fill(~mask, float("-inf"))
            weights = energies.softmax(-1)
            heads, weights = weights @ memory.values, weights.mean(1)
        else:
            heads, weights = (
                scaled_dot_product_attention(query, *memory, mask, is_causal=causal),
                None,
            )
        return self.out(heads.transpose(1, 2).flatten(2)), weights

    def _split(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Section 3.3: ``max(0, x W_1 + b_1) W_2 + b_2``."""

    def __init__(self, width: int, hidden_size: int) -> None:
        super().__init__(nn.Linear(width, hidden_size), nn.ReLU(), nn.Linear(hidden_size, width))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection around it."""

    def __init__(self, width: int, heads: int, hidden_size: int, dropout: float, pre: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.feed_forward = FeedForward(width, hidden_size)
        self.around_attention, self.around_feed_forward = (
            Residual(width, dropout, pre) for _ in range(2)
        )

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """``(batch, src, width)``, mask ``(batch, 1, 1, src)`` -> ``(batch, src, width)``."""
        inputs = self.around_attention.enter(states)
        attended, _ = self.attention(inputs, self.attention.prepare(inputs), mask)
        states = self.around_attention.leave(states, attended)
        fed = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, fed)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source, feed-forward."""

    def __init__(self, width: int, heads: int, hidden_size: int, dropout: float, pre: bool) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(width, heads)
        self.cross_attention = MultiHeadAttention(width, heads)
        self.feed_forward = FeedForward(width, hidden_size)
        self.around_self_attention, self.around_cross_attention, self.around_feed_forward = (
            Residual(width, dropout, pre) for _ in range(3)
        )

    def forward(
        self,
        states: Tensor,
        past: KeysValues | None,
        source: KeysValues,
        mask: Tensor,
        need_weights: bool,
    ) -> tuple[Tensor, KeysValues, Tensor | None]:
        """Decode positions after ``past``.

        Args:
            states: ``(batch, tgt, width)``; a whole target, or one position with a ``past``.
            past: keys and values of earlier positions; None for a whole target.
            source: the encoded source as this layer sees it.
            mask: of the source, ``(batch, 1, 1, src)``.
            need_weights: return the weights over the source, ``(batch, tgt, src)``.

        Returns:
            States ``(batch, tgt, width)``, keys and values so far, weights or None.
        """
        inputs = self.around_self_attention.enter(states)
        known = self.self_attention.prepare(inputs)
        if past is not None:
            known = KeysValues(*(torch.cat(pair, 2) for pair in zip(past, known, strict=True)))
        looked_back, _ = self.self_attention(inputs, known, causal=past is None)
        states = self.around_self_attention.leave(states, looked_back)
        query = self.around_cross_attention.enter(states)
        attended, weights = self.cross_attention(query, source, mask, need_weights=need_weights)
        states = self.around_cross_attention.leave(states, attended)
        fed = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, fed), known, weights


class Residual(nn.Module):
    """The connection around a sublayer: ``LayerNorm(x + f(x))``, or ``x + f(LayerNorm(x))``."""

    def __init__(self, width: int, dropout: float, pre: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.pre = pre

    def enter(self, states: Tensor) -> Tensor:
        """What the sublayer reads."""
        return self.norm(states) if self.pre else states

    def leave(self, states: Tensor, result: Tensor) -> Tensor:
        """Add what the sublayer made."""
        states = states + self.dropout(result)
        return states if self.pre else self.norm(states)


class Transformer(EncoderDecoder):
    """Attention everywhere, no recurrence; sinusoidal positions.

    ``pre_norm=false`` is the paper's; ``pre_norm=true`` (Xiong et al. 2020, arXiv 2002.04745)
    trains without a long warm-up. The weights returned are the last decoder layer's over the
    source, averaged over its heads.
    """

    @validate_call(config=ARBITRARY)
    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        width: Size,
        heads: Size,
        hidden_size: Size,
        encoder_layers: Size,
        decoder_layers: Size,
        pre_norm: bool = True,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(src_vocabulary, tgt_vocabulary, width)
        if width % heads:
            raise ValueError(f"model.heads={heads}: must divide model.width={width}")
        if width % 2:
            raise ValueError(f"model.width={width}: sinusoidal positions need an even width")
        for table in (self.src_embedding, self.tgt_embedding):
            nn.init.normal_(table.weight, std=width**-0.5)  # of unit size once × √d_model
        sizes = (width, heads, hidden_size, dropout, pre_norm)
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(decoder_layers))
        # Pre-norm leaves the last sum as it is; post-norm has just normalised it.
        self.encoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()

    def encode(self, src: Tensor, src_mask: Tensor) -> TransformerMemory:
        """See the base class."""
        states = self._embed(self.src_embedding, src, 0)
        for layer in self.encoder:
            states = layer(states, src_mask[:, None, None])
        states = self.encoder_norm(states)
        layers = cast(Iterable[DecoderLayer], self.decoder)
        views = tuple(layer.cross_attention.prepare(states) for layer in layers)
        return TransformerMemory(views, src_mask)

    def initial_state(self, memory: TransformerMemory) -> TransformerState:
        """See the base class."""
        return TransformerState(
            tuple(KeysValues(keys[:, :, :0], values[:, :, :0]) for keys, values in memory.layers)
        )

    def decode(self, memory: TransformerMemory, tgt_in: Tensor) -> Decoded:
        """See the base class."""
        features, _, weights = self._advance(memory, None, tgt_in, need_weights=not self.training)
        return Decoded(features, weights)

    def step(self, memory: TransformerMemory, state: TransformerState, last_token: Tensor) -> Step:
        """See the base class."""
        features, state, weights = self._advance(
            memory, state, last_token.unsqueeze(1), need_weights=True
        )
        assert weights is not None
        return Step(self.logits(features.squeeze(1)), state, weights.squeeze(1))

    def _advance(
        self,
        memory: TransformerMemory,
        state: TransformerState | None,
        tokens: Tensor,
        need_weights: bool,
    ) -> tuple[Tensor, TransformerState, Tensor | None]:
        start = 0 if state is None else state.layers[0].keys.shape[2]
        states = self._embed(self.tgt_embedding, tokens, start)
        mask = memory.mask[:, None, None]
        caches, weights = [], None
        for number, layer in enumerate(self.decoder):
            past = None if state is None else state.layers[number]
            last = number == len(self.decoder) - 1
            states, cache, weights = layer(
                states, past, memory.layers[number], mask, need_weights and last
            )
            caches.append(cache)
        return self.decoder_norm(states), TransformerState(tuple(caches)), weights

    def _embed(self, table: nn.Embedding, tokens: Tensor, start: int) -> Tensor:
        """Section 3.4 and 3.5: embeddings × √d_model, plus positions from ``start``."""
        width = table.embedding_dim
        embedded = table(tokens) * math.sqrt(width)
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        return self.dropout(embedded + sinusoids(positions, width).to(embedded.dtype))


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Section 3.5: sines and cosines of geometric wavelengths, ``(positions, width)``."""
    even = torch.arange(0, width, 2, device=positions.device)
    angles = positions.unsqueeze(1) * torch.exp(even * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
