"""Vaswani et al. 2017, section 3.1: the layers of the encoder and of the decoder."""

from collections.abc import Callable, Iterator

from torch import Tensor, nn

from lightning_modules.kernels.products import LinearLayer
from lightning_modules.variants.base import Options, Placement, Tied
from lightning_modules.variants.transformer.heads import (
    AttentionPositions,
    InputPositions,
    KeysValues,
    MultiHeadAttention,
    Positions,
    Relative,
    Rotary,
)


class TransformerOptions(Options):
    """``model`` of a Transformer, besides ``src_vocabulary`` and ``tgt_vocabulary``."""

    width: int  # d_model
    heads: int  # h, of every attention
    hidden_size: int  # d_ff
    encoder_layers: int
    decoder_layers: int
    key_size: int | None  # d_k; None: width / heads, as published
    value_size: int | None  # d_v; None: width / heads, as published
    pre_norm: bool
    """LayerNorm before each sublayer (Xiong et al. 2020, arXiv 2002.04745), which trains without a
    long warm-up; false: after each sublayer, as published."""
    positions: Positions
    """At the input or in the self-attentions. With ``none`` the encoder cannot know the order of
    the source, and the decoder counts by its causal mask alone (Kazemnejad et al. 2023, arXiv
    2305.19466)."""
    max_length: int
    relative_distance: int
    tied: Tied
    dropout: float  # on the embeddings and on the result of each sublayer (section 5.4)
    placement: Placement | None

    @property
    def head_sizes(self) -> tuple[int, int]:
        """d_k and d_v. Raises ``ValueError`` if ``heads`` does not divide a width that it must."""
        if None in (self.key_size, self.value_size) and self.width % self.heads:
            raise ValueError(
                f"model.heads={self.heads}: must divide model.width={self.width}, unless "
                "model.key_size and model.value_size are set"
            )
        share = self.width // self.heads
        return self.key_size or share, self.value_size or share

    def self_attention(self) -> MultiHeadAttention:
        """Return an attention with the positions of its inputs."""
        positions = AttentionPositions()
        if self.positions == "rotary":
            positions = Rotary()
        elif self.positions == "relative":
            positions = Relative(self.head_sizes[0], self.relative_distance)
        return MultiHeadAttention(self.width, self.heads, *self.head_sizes, positions)

    def cross_attention(self) -> MultiHeadAttention:
        """Return an attention to another sentence, where distances have no meaning."""
        return MultiHeadAttention(self.width, self.heads, *self.head_sizes)


def enter(
    embedded: Tensor, scale: float, positions: InputPositions, places: Tensor, dropout: nn.Module
) -> Tensor:
    """Return embeddings with their scale and positions, ``(…, positions, width)``.

    ``embedded`` has this shape too; ``places`` are the positions in a sentence, ``(positions,)``
    (sections 3.4 and 3.5).
    """
    entered: Tensor = dropout(positions(embedded * scale, places))
    return entered


class FeedForward(nn.Sequential):
    """``max(0, x W_1 + b_1) W_2 + b_2`` (section 3.3)."""

    def __init__(self, width: int, hidden_size: int) -> None:
        super().__init__(
            LinearLayer(width, hidden_size), nn.ReLU(inplace=True), LinearLayer(hidden_size, width)
        )


class Residual(nn.Module):
    """The connection around a sublayer: ``LayerNorm(x + f(x))``, or ``x + f(LayerNorm(x))``."""

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(options.width)
        self.dropout = nn.Dropout(options.dropout)
        self.pre_norm = options.pre_norm

    def around(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the states behind a sublayer, ``(…, width)``."""
        return self.leave(states, sublayer(self.enter(states)))

    def enter(self, states: Tensor) -> Tensor:
        """Return the input of the sublayer, ``(…, width)``."""
        return self.norm(states) if self.pre_norm else states

    def leave(self, states: Tensor, result: Tensor) -> Tensor:
        """Add the result of the sublayer, ``(…, width)``."""
        states = states + self.dropout(result)
        return states if self.pre_norm else self.norm(states)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection."""

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.attention = options.self_attention()
        self.feed_forward = FeedForward(options.width, options.hidden_size)
        self.around_attention, self.around_feed_forward = (Residual(options) for _ in range(2))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return states ``(batch, src, width)``; mask ``(batch, 1, 1, src)``."""
        inputs = self.around_attention.enter(states)
        attended, _ = self.attention(inputs, self.attention.prepare(inputs), mask)
        states = self.around_attention.leave(states, attended)
        return self.around_feed_forward.around(states, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source, feed-forward."""

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.self_attention = options.self_attention()
        self.cross_attention = options.cross_attention()
        self.feed_forward = FeedForward(options.width, options.hidden_size)
        self.around_self_attention, self.around_cross_attention, self.around_feed_forward = (
            Residual(options) for _ in range(3)
        )

    def parts_of_decoder(self) -> Iterator[nn.Module]:
        """Return the parts that belong to the decoder in ``model.placement``."""
        return (part for part in self.children() if part is not self.cross_attention)

    def forward(
        self,
        states: Tensor,
        past: KeysValues | None,
        source: KeysValues,
        mask: Tensor,
        need_weights: bool,
    ) -> tuple[Tensor, KeysValues, Tensor | None]:
        """Return states, keys and values of all positions, and weights over the source if needed.

        ``states`` ``(batch, tgt, width)`` are a whole target, or one position after ``past``.
        Adjacent rows may share one row of ``source`` and of its mask ``(batch, 1, 1, src)``.
        """
        start = 0 if past is None else past.keys.shape[2]
        inputs = self.around_self_attention.enter(states)
        known = self.self_attention.prepare(inputs, start)
        if past is not None:
            known = past.append(known)
        self_attended, _ = self.self_attention(inputs, known, causal=past is None, start=start)
        states = self.around_self_attention.leave(states, self_attended)
        states, weights = self.after_self_attention(states, source, mask, need_weights)
        return states, known, weights

    def after_self_attention(
        self, states: Tensor, source: KeysValues, mask: Tensor, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return states and weights as ``forward`` does."""
        # Rows that share a source are treated like positions of one target.
        query = self.around_cross_attention.enter(states).reshape(len(mask), -1, states.shape[2])
        attended, weights = self.cross_attention(query, source, mask, need_weights=need_weights)
        if weights is not None:
            weights = weights.reshape(*states.shape[:2], -1)
        states = self.around_cross_attention.leave(states, attended.reshape(states.shape))
        return self.around_feed_forward.around(states, self.feed_forward), weights

    def step_in_slots(
        self,
        states: Tensor,
        known: KeysValues,
        slots: Tensor,
        positions: Tensor,
        visible: Tensor,
        source: KeysValues,
        mask: Tensor,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Return states ``(batch, rows, width)`` after one position, and weights if needed.

        See ``MultiHeadAttention.attend_in_slots`` and ``forward``.
        """
        inputs = self.around_self_attention.enter(states)
        attended = self.self_attention.attend_in_slots(inputs, known, slots, positions, visible)
        states = self.around_self_attention.leave(states, attended)
        return self.after_self_attention(states, source, mask, need_weights)
