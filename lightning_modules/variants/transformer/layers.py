"""Vaswani et al. 2017, section 3.1: the layers of the encoder and of the decoder."""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor, nn

from lightning_modules.kernels import LinearLayer
from lightning_modules.variants.transformer.heads import KeysValues, MultiHeadAttention, Places
from lightning_modules.variants.transformer.past import Store
from lightning_modules.variants.transformer.positions import Positions, attention_positions


class Shape(NamedTuple):
    """Options that all layers of a model share; see ``Transformer``."""

    width: int
    heads: int
    key_size: int
    value_size: int
    hidden_size: int
    dropout: float
    pre_norm: bool
    positions: Positions
    relative_distance: int

    def self_attention(self) -> MultiHeadAttention:
        """Return an attention with the positions of its inputs."""
        positions = attention_positions(self.positions, self.key_size, self.relative_distance)
        return MultiHeadAttention(*self[:4], positions)

    def cross_attention(self) -> MultiHeadAttention:
        """Return an attention to another sentence, where distances have no meaning."""
        return MultiHeadAttention(*self[:4])


class FeedForward(nn.Sequential):
    """``max(0, x W_1 + b_1) W_2 + b_2`` (section 3.3)."""

    def __init__(self, width: int, hidden_size: int) -> None:
        super().__init__(
            LinearLayer(width, hidden_size), nn.ReLU(inplace=True), LinearLayer(hidden_size, width)
        )


class Residual(nn.Module):
    """The connection around a sublayer: ``LayerNorm(x + f(x))``, or ``x + f(LayerNorm(x))``."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.pre_norm = shape.pre_norm

    def enter(self, states: Tensor) -> Tensor:
        """Return the input of the sublayer, ``(batch, positions, width)``."""
        return self.norm(states) if self.pre_norm else states

    def leave(self, states: Tensor, result: Tensor) -> Tensor:
        """Add the result of the sublayer, ``(batch, positions, width)``."""
        states = states + self.dropout(result)
        return states if self.pre_norm else self.norm(states)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = shape.self_attention()
        self.feed_forward = FeedForward(shape.width, shape.hidden_size)
        self.around_attention, self.around_feed_forward = (Residual(shape) for _ in range(2))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return states ``(batch, src, width)``; mask ``(batch, 1, 1, src)``."""
        inputs = self.around_attention.enter(states)
        attended, _ = self.attention(inputs, self.attention.prepare(inputs), mask)
        states = self.around_attention.leave(states, attended)
        fed = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, fed)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source, feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attention = shape.self_attention()
        self.cross_attention = shape.cross_attention()
        self.feed_forward = FeedForward(shape.width, shape.hidden_size)
        self.around_self_attention, self.around_cross_attention, self.around_feed_forward = (
            Residual(shape) for _ in range(3)
        )

    def beside_cross_attention(self) -> Iterator[nn.Module]:
        """Return the parts that belong to the decoder in ``model.placement``."""
        return (part for part in self.children() if part is not self.cross_attention)

    def forward(
        self,
        states: Tensor,
        past: Store | None,
        source: KeysValues,
        mask: Tensor,
        need_weights: bool,
        places: Places | None = None,
    ) -> tuple[Tensor, Store | None, Tensor | None]:
        """Decode positions after ``past``.

        Args:
            states: ``(batch, tgt, width)``: a whole target, or with ``past`` one position of each
                row that shares keys. Adjacent rows may share one row of ``source``.
            past: keys and values of earlier positions; None for a whole target.
            source: keys and values of the encoded source in this layer.
            mask: True where a source token is real, ``(batch, 1, 1, src)``.
            need_weights: return the weights over the source, ``(batch, tgt, src)``.
            places: with ``past``, places of the new positions and of all keys.

        Returns:
            States ``(batch, tgt, width)``; keys and values of all positions, with ``past``; weights
            or None.
        """
        inputs = self.around_self_attention.enter(states)
        known = self.self_attention.prepare(inputs, None if places is None else places.queries)
        store = None if past is None else past.append(known)
        if store is not None:
            known = store.content()
        self_attended, _ = self.self_attention(inputs, known, causal=past is None, places=places)
        states = self.around_self_attention.leave(states, self_attended)
        # Rows that share a source are treated like positions of one target.
        query = self.around_cross_attention.enter(states).reshape(len(mask), -1, states.shape[2])
        attended, weights = self.cross_attention(query, source, mask, need_weights=need_weights)
        if weights is not None:
            weights = weights.reshape(*states.shape[:2], -1)
        states = self.around_cross_attention.leave(states, attended.reshape(states.shape))
        fed = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, fed), store, weights
