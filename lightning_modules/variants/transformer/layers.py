"""Vaswani et al. 2017, section 3.1: the layers of the encoder and of the decoder."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.kernels import LinearLayer
from lightning_modules.variants.base import Selectable
from lightning_modules.variants.transformer.heads import (
    KeysValues,
    MultiHeadAttention,
    Places,
    Positions,
    attention_positions,
)


class Store(Selectable):
    """Keys and values of one self-attention, with room for further positions.

    Stores never change, though a longer store writes into the room behind a shorter store: the
    first to do so. Any other copies the keys and values first.

    Args:
        room: keys ``(batch, heads, slots, key)`` and values; the first ``length`` slots are used.
        length: number of used slots.
    """

    def __init__(self, room: KeysValues, length: int) -> None:
        self._room = room
        self._written = [length]  # by the longest store in this room
        self._length = length

    def content(self) -> KeysValues:
        """Return the used keys and values."""
        return KeysValues(*(part[:, :, : self._length] for part in self._room))

    @torch.compiler.disable
    def append(self, new: KeysValues) -> "Store":
        """Return a store that also has the keys and values ``(batch, heads, positions, size)``."""
        first, last = self._length, self._length + new.keys.shape[2]
        has_room = self._written[0] == first and last <= self._room.keys.shape[2]
        # A backward pass needs the keys as each step saw them, without a later change.
        longer = self if has_room and not new.keys.requires_grad else self._copied(2 * last)
        for part, added in zip(longer._room, new, strict=True):
            part[:, :, first:last] = added
        longer._written[0] = last
        result = Store(longer._room, last)
        result._written = longer._written
        return result

    @override
    def select(self, index: Tensor) -> "Store":
        return self._copied(2 * self._length, index)

    def _copied(self, slots: int, index: Tensor | None = None) -> "Store":
        """Copy to a room of so many slots."""
        rooms = []
        for part in self.content():
            chosen = part if index is None else part.index_select(0, index.to(part.device))
            room = part.new_empty(len(chosen), part.shape[1], slots, part.shape[3])
            room[:, :, : self._length] = chosen
            rooms.append(room)
        return Store(KeysValues(*rooms), self._length)


class TransformerState(Selectable):
    """What all self-attentions of a decoder store; adjacent rows may share the stores' entries.

    The rows of a beam share an entry, and each row sees what its own ancestors left there: rows
    that change places move no keys.

    Args:
        layers: keys and values of each decoder layer.
        entries: number of entries of each store.
        steps: target position of each slot of the stores, ``(slots,)``.
        length: number of target positions.
        batch: number of rows, a multiple of the number of entries.
        visible: True where a row sees a slot of its entry, ``(rows, slots)``; None for everywhere.
    """

    def __init__(
        self,
        layers: tuple[Store, ...],
        entries: int,
        steps: Tensor,
        length: int,
        batch: int,
        visible: Tensor | None = None,
    ) -> None:
        self.layers = layers
        self.entries = entries
        self.steps = steps
        self.length = length
        self.batch = batch
        self.visible = visible

    def next_step(self) -> "NextStep":
        """Return what the next step adds: one slot for each row of an entry."""
        shared = self.batch // max(1, self.entries)
        steps = torch.cat([self.steps, self.steps.new_full((shared,), self.length)])
        visible = self.visible
        if visible is not None:
            own = torch.eye(shared, dtype=torch.bool, device=visible.device)
            visible = torch.cat([visible, own.repeat(self.entries, 1)], 1)
        return NextStep(self.length, shared, steps, visible)

    def after(self, step: "NextStep", layers: tuple[Store, ...]) -> "TransformerState":
        """Return the state after a step that has filled ``layers``."""
        length = step.position + 1
        return TransformerState(layers, self.entries, step.steps, length, self.batch, step.visible)

    @override
    def select(self, index: Tensor) -> "TransformerState":
        before = self.batch // max(1, self.entries)
        beams = index if index.dim() == 2 else index.unsqueeze(1)
        count, shared = beams.shape
        layers, visible, index = self.layers, self.visible, index.flatten()
        # Rows of beams stay within their sentences: as many sentences are the same sentences.
        if index.dim() == 1 or count < self.entries:
            entries = beams[:, 0] // before
            layers = tuple(store.select(entries) for store in layers)
        if visible is None and (before, shared) != (1, 1):
            visible = torch.ones(self.batch, len(self.steps), dtype=torch.bool, device=index.device)
        visible = None if visible is None else visible.index_select(0, index)
        return TransformerState(layers, count, self.steps, self.length, len(index), visible)


class NextStep(NamedTuple):
    """What the next step adds to a ``TransformerState``."""

    position: int
    """Target position of the step."""
    shared: int
    """Number of rows of each entry."""
    steps: Tensor
    """Target position of each slot, with the new slots, ``(slots,)``."""
    visible: Tensor | None
    """True where a row sees a slot, ``(rows, slots)``; None for everywhere."""

    def places(self) -> Places:
        """Return the places of the new positions and of all keys."""
        visible = self.visible
        if visible is not None:
            visible = visible.unflatten(0, (-1, self.shared)).unsqueeze(1)
        return Places(self.steps[-self.shared :], self.steps, visible)


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
