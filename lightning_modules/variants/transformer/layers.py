"""The layers of the encoder and of the decoder: Vaswani et al. 2017, section 3.1, and its parts
between an RNN with attention and a Transformer.

A layer of the encoder is a mixer and a feed-forward layer; a layer of the decoder has attention to
the source between them. Every part but the mixer can be left out (Domhan 2018, P18-1167).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lightning_modules.kernels.products import LinearLayer
from lightning_modules.variants.base import Options, Placement, Tied
from lightning_modules.variants.transformer.heads import KeysValues, MultiHeadAttention
from lightning_modules.variants.transformer.linear_mixers import (
    GatedDeltaRule,
    GatedLinearAttention,
    Mamba2,
    Retention,
)
from lightning_modules.variants.transformer.mixers import (
    Mixer,
    RnnMixer,
    SelfAttention,
    TwoDirections,
)
from lightning_modules.variants.transformer.positions import (
    IN_SELF_ATTENTION,
    AttentionPositions,
    BucketBias,
    InputPositions,
    LearnedPositions,
    LinearBias,
    Positions,
    Relative,
    Rotary,
    ShiftedSinusoids,
    Sinusoidal,
)

MixerName = Literal[
    "attention", "lstm", "gru", "retention", "gated_linear", "gated_delta", "mamba2"
]
RECURRENCES: Mapping[str, Callable[[int, int, int], Mixer]] = {
    "lstm": partial(RnnMixer, nn.LSTM),
    "gru": partial(RnnMixer, nn.GRU),
    "retention": Retention,
    "gated_linear": GatedLinearAttention,
    "gated_delta": GatedDeltaRule,
    "mamba2": Mamba2,
}
"""What makes each recurrence of ``MixerName``; see ``Mixer``."""


class TransformerOptions(Options):
    """``model`` of a Transformer, besides ``src_vocabulary`` and ``tgt_vocabulary``."""

    width: int  # d_model
    heads: int  # h, of every attention
    hidden_size: int | None  # d_ff; None: no feed-forward layers
    encoder_layers: int
    decoder_layers: int
    encoder_mixer: MixerName
    decoder_mixer: MixerName
    cross_attention: Literal["every", "last"]
    """Layers of the decoder with attention to the source; ``last``: as in an RNN with attention."""
    residual: bool
    """Whether each sublayer adds to its inputs. If not, attention to the source combines its result
    with its query as Luong et al. 2015, eq. 5; otherwise nothing of the target would be left."""
    norm: Literal["none", "before", "after"]
    """LayerNorm before each sublayer (Xiong et al. 2020, arXiv 2002.04745), which trains without a
    long warm-up, or after each, as published."""
    key_size: int | None  # d_k; None: width / heads, as published
    value_size: int | None  # d_v; None: width / heads, as published
    positions: Positions
    """At the input or in the self-attentions. With ``none`` an encoder of attention cannot know the
    order of the source, and such a decoder counts by its causal mask alone (Kazemnejad et al. 2023,
    arXiv 2305.19466)."""
    decoder_positions: Positions | None  # None: those of the encoder
    max_length: int
    max_shift: int
    relative_distance: int
    bias_buckets: int
    bias_distance: int
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

    @property
    def sides(self) -> tuple[tuple[str, Positions], tuple[str, Positions]]:
        """The setting and the kind of the positions of the encoder, and of the decoder."""
        encoder = "model.positions", self.positions
        if self.decoder_positions is None:
            return encoder, encoder
        return encoder, ("model.decoder_positions", self.decoder_positions)

    def check_positions(self) -> None:
        """Raise ``ValueError`` for positions that do not fit the sizes or the mixers."""
        key_size, _ = self.head_sizes
        mixers = self.encoder_mixer, self.decoder_mixer
        for setting, kind in self.sides:
            # Pairs of a sine and a cosine.
            if kind in ("sinusoidal", "shifted") and self.width % 2:
                raise ValueError(f"model.width={self.width}: {kind} positions need an even width")
            if kind == "rotary" and key_size % 2:
                given = "key_size" if self.key_size else "width / model.heads"
                raise ValueError(
                    f"model.{given}={key_size}: rotary positions need keys of an even size"
                )
            pairs = zip(self.sides, mixers, strict=True)
            if kind in IN_SELF_ATTENTION and ((setting, kind), "attention") not in pairs:
                raise ValueError(
                    f"{setting}={kind}: is a part of self-attention, and no side with this setting "
                    "has any; set sinusoidal, learned or none, or choose attention as its mixer"
                )

    def input_positions(self, kind: Positions) -> InputPositions:
        """Return what adds positions to the embeddings of a side."""
        kinds: dict[Positions, Callable[[], InputPositions]] = {
            "sinusoidal": Sinusoidal,
            "shifted": partial(ShiftedSinusoids, self.max_shift),
            "learned": partial(LearnedPositions, self.width, self.max_length),
        }
        return kinds.get(kind, InputPositions)()

    def attention_positions(
        self, kind: Positions, causal: bool
    ) -> Callable[[], AttentionPositions]:
        """Return what makes the positions of each self-attention of a side."""
        if kind == "t5":  # one bias for all layers
            numbers = self.bias_buckets, self.bias_distance
            bias = BucketBias(self.heads, self.width, *numbers, causal)
            return lambda: bias
        kinds: dict[Positions, Callable[[], AttentionPositions]] = {
            "rotary": Rotary,
            "relative": partial(Relative, self.head_sizes[0], self.relative_distance),
            "alibi": partial(LinearBias, self.heads),
        }
        return kinds.get(kind, AttentionPositions)

    def self_attention(self, positions: AttentionPositions) -> SelfAttention:
        """Return an attention with the positions of its inputs."""
        return SelfAttention(self.width, self.heads, *self.head_sizes, positions)

    def attention_to_source(self) -> MultiHeadAttention:
        """Return an attention to another sentence, where distances have no meaning."""
        return MultiHeadAttention(self.width, self.heads, *self.head_sizes)

    def encoder_part(
        self, positions: Callable[[], AttentionPositions]
    ) -> SelfAttention | TwoDirections:
        """Return what mixes the positions of a source."""
        if self.encoder_mixer == "attention":
            return self.self_attention(positions())
        return TwoDirections(RECURRENCES[self.encoder_mixer], self.width, self.heads)

    def decoder_part(self, positions: Callable[[], AttentionPositions]) -> Mixer:
        """Return what mixes each position of a target with earlier ones."""
        if self.decoder_mixer == "attention":
            return self.self_attention(positions())
        return RECURRENCES[self.decoder_mixer](self.width, self.heads, self.width)

    def feed_forward(self) -> "FeedForward | None":
        """Return a feed-forward layer, if there are any."""
        return None if self.hidden_size is None else FeedForward(self.width, self.hidden_size)


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


class Connection(nn.Module):
    """The connection around a sublayer: ``LayerNorm(x + f(x))``, or ``x + f(LayerNorm(x))``.

    Without the residual connection ``x`` is left out of the sum, without a norm ``LayerNorm``.
    """

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.norm = nn.Identity() if options.norm == "none" else nn.LayerNorm(options.width)
        self.dropout = nn.Dropout(options.dropout)
        self.norm_first, self.residual = options.norm == "before", options.residual

    def around(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the states behind a sublayer, ``(…, width)``."""
        return self.leave(states, sublayer(self.enter(states)))

    def enter(self, states: Tensor) -> Tensor:
        """Return the input of the sublayer, ``(…, width)``."""
        return self.norm(states) if self.norm_first else states

    def leave(self, states: Tensor, result: Tensor) -> Tensor:
        """Add the result of the sublayer, ``(…, width)``."""
        result = self.dropout(result)
        states = states + result if self.residual else result
        return states if self.norm_first else self.norm(states)


class Layer(nn.Module):
    """What layers of both sides share: the last part is a feed-forward layer, if there is any."""

    feed_forward: FeedForward | None
    around_feed_forward: Connection

    def feed(self, states: Tensor) -> Tensor:
        """Return states behind the feed-forward layer, ``(…, width)``."""
        if self.feed_forward is None:
            return states
        return self.around_feed_forward.around(states, self.feed_forward)


class EncoderLayer(Layer):
    """Self-attention or a recurrence, then feed-forward, each with its connection."""

    def __init__(
        self, options: TransformerOptions, positions: Callable[[], AttentionPositions]
    ) -> None:
        """``positions`` makes those of self-attention."""
        super().__init__()
        self.mixer = options.encoder_part(positions)
        self.feed_forward = options.feed_forward()
        self.around_mixer = Connection(options)
        if self.feed_forward is not None:
            self.around_feed_forward = Connection(options)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return states ``(batch, src, width)``; mask ``(batch, src)``, True where real."""
        mixed = self.mixer.read(self.around_mixer.enter(states), mask)
        return self.feed(self.around_mixer.leave(states, mixed))


class DecoderLayer(Layer):
    """Masked self-attention or a recurrence, attention to the source, feed-forward."""

    def __init__(
        self,
        options: TransformerOptions,
        positions: Callable[[], AttentionPositions],
        attends: bool,
    ) -> None:
        """``attends``: whether the layer has attention to the source; see ``EncoderLayer``."""
        super().__init__()
        self.mixer = options.decoder_part(positions)
        self.cross_attention = options.attention_to_source() if attends else None
        self.feed_forward = options.feed_forward()
        self.around_mixer = Connection(options)
        if self.cross_attention is not None:
            self.around_cross_attention = Connection(options)
            width = options.width
            self.combine = None if options.residual else LinearLayer(2 * width, width)
        if self.feed_forward is not None:
            self.around_feed_forward = Connection(options)

    def parts_of_decoder(self) -> Iterator[nn.Module]:
        """Return the parts that belong to the decoder in ``model.placement``."""
        return (part for part in self.children() if part is not self.cross_attention)

    def forward(
        self, states: Tensor, past: Any, source: KeysValues | None, mask: Tensor, need_weights: bool
    ) -> tuple[Tensor, Any, Tensor | None]:
        """Return states, the state of the mixer, and weights over the source if needed.

        ``states`` ``(batch, tgt, width)`` are a whole target, without ``past`` and without a state
        for later, or one position after ``past``. Adjacent rows may share one row of ``source`` and
        of its mask ``(batch, src)``; ``source`` is None without attention to it.
        """
        inputs = self.around_mixer.enter(states)
        if past is None:
            mixed, state = self.mixer.run(inputs), None
        else:
            one, state = self.mixer.step(inputs.squeeze(1), past)
            mixed = one.unsqueeze(1)
        states = self.around_mixer.leave(states, mixed)
        states, weights = self.after_mixer(states, source, mask, need_weights)
        return states, state, weights

    def after_mixer(
        self, states: Tensor, source: KeysValues | None, mask: Tensor, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return states and weights as ``forward`` does."""
        if self.cross_attention is None:
            return self.feed(states), None
        # Rows that share a source are treated like positions of one target.
        query = self.around_cross_attention.enter(states)
        attended, weights = self.cross_attention(
            query.reshape(len(mask), -1, states.shape[2]),
            source,
            mask[:, None, None],
            need_weights=need_weights,
        )
        if weights is not None:
            weights = weights.reshape(*states.shape[:2], -1)
        return self.feed(self.join(states, query, attended.reshape(states.shape))), weights

    def join(self, states: Tensor, query: Tensor, attended: Tensor) -> Tensor:
        """Return states behind the attention to the source, each ``(…, width)``."""
        if self.combine is not None:
            attended = torch.tanh(self.combine(torch.cat([attended, query], -1)))
        return self.around_cross_attention.leave(states, attended)

    def step_in_slots(
        self,
        states: Tensor,
        known: KeysValues,
        slots: Tensor,
        positions: Tensor,
        visible: Tensor,
        source: KeysValues | None,
        mask: Tensor,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Return states ``(batch, rows, width)`` after one position, and weights if needed.

        See ``MultiHeadAttention.attend_in_slots`` and ``forward``; the mixer is self-attention.
        """
        assert isinstance(self.mixer, SelfAttention)
        inputs = self.around_mixer.enter(states)
        attended = self.mixer.attend_in_slots(inputs, known, slots, positions, visible)
        states = self.around_mixer.leave(states, attended)
        return self.after_mixer(states, source, mask, need_weights)
