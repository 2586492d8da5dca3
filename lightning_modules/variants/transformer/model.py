"""Vaswani et al. 2017 (arXiv 1706.03762): the Transformer."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple, cast

import torch
from pydantic import validate_call
from torch import Tensor, nn
from torch.nn.functional import pad
from typing_extensions import override

from lightning_modules.variants.base import (
    ARBITRARY,
    Decoded,
    Dropout,
    EmbeddedEncoderDecoder,
    Limit,
    Placement,
    Size,
    Step,
    Tied,
)
from lightning_modules.variants.transformer.heads import (
    InputPositions,
    KeysValues,
    Learned,
    Places,
    Positions,
    input_positions,
)
from lightning_modules.variants.transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    Shape,
    Store,
    TransformerState,
)

PIECE = 64
"""Number of sentences that a CPU encodes together in a search."""


class TransformerMemory(NamedTuple):
    """The encoded source, projected once for every decoder layer."""

    layers: tuple[KeysValues, ...]
    """Keys and values of each decoder layer's attention to the source."""
    mask: Tensor
    """True where a token is real, ``(batch, src)``."""


class Transformer(EmbeddedEncoderDecoder):
    """Encoder and decoder of attention layers, without recurrence.

    Returned weights are the weights of the last decoder layer over the source, averaged over heads.

    Args:
        src_vocabulary: number of source tokens.
        tgt_vocabulary: number of target tokens.
        width: d_model.
        heads: h, of every attention.
        hidden_size: d_ff.
        encoder_layers: N of the encoder.
        decoder_layers: N of the decoder.
        key_size: d_k; None: width / heads, as published.
        value_size: d_v; None: width / heads, as published.
        pre_norm: LayerNorm before each sublayer (Xiong et al. 2020, arXiv 2002.04745), which
            trains without a long warm-up; false: after each sublayer, as published.
        positions: position encoding: ``sinusoidal`` (section 3.5) or ``learned`` (Table 3 E) at
            the input; ``rotary`` (Su et al. 2021, arXiv 2104.09864) or ``relative`` (Shaw et al.
            2018, arXiv 1803.02155) in the self-attentions; or ``none``: the encoder then cannot
            know the order of the source, and the decoder counts by its causal mask alone
            (Kazemnejad et al. 2023, arXiv 2305.19466).
        max_length: number of learned positions of each side.
        relative_distance: relative positions farther apart than this share one vector.
        tied: shared tables; see the base class.
        dropout: on the embeddings and on the result of each sublayer (section 5.4).
        placement: devices of the parts; see the base class.
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
        key_size: Size | None = None,
        value_size: Size | None = None,
        pre_norm: bool = True,
        positions: Positions = "sinusoidal",
        max_length: Size = 1024,
        relative_distance: Size = 16,
        tied: Tied = "none",
        dropout: Dropout = 0.0,
        placement: Placement | None = None,
    ) -> None:
        super().__init__(
            src_vocabulary, tgt_vocabulary, width, width, tied, placement or Placement()
        )
        keys, values = head_sizes(width, heads, key_size, value_size)
        check_even(positions, width, keys)
        self.src_positions, self.tgt_positions = (
            input_positions(positions, width, max_length) for _ in range(2)
        )
        self.dropout = nn.Dropout(dropout)
        shape = Shape(
            width, heads, keys, values, hidden_size, dropout, pre_norm, positions, relative_distance
        )
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(decoder_layers))
        # Pre-norm leaves the last sum without normalisation; post-norm has just normalised it.
        self.encoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.place()

    @property
    @override
    def embedding_scale(self) -> float:
        """Section 3.4: √d_model."""
        return math.sqrt(self.tgt_embedding.embedding_dim)

    @override
    def encode(
        self, src: Tensor, src_mask: Tensor, src_lengths: Tensor | None = None
    ) -> TransformerMemory:
        if torch.is_grad_enabled() or src.device.type != "cpu" or len(src) <= PIECE:
            return self._encode(src, src_mask)
        # Padding costs as much as words, and batches of a search are longer than they need be.
        lengths = src_mask.sum(1)
        order = lengths.argsort()
        pieces = []
        for chosen in order.split(PIECE):
            width = int(lengths[chosen[-1]])
            pieces.append(self._encode(src[chosen, :width], src_mask[chosen, :width]))
        return joined(pieces, order.argsort(), src.shape[1])

    def _encode(self, src: Tensor, src_mask: Tensor) -> TransformerMemory:
        states = self._embed(self.src_embedding, self.src_positions, src, 0)
        mask = src_mask.to(states.device)[:, None, None]
        for layer in self.encoder:
            states = layer(states, mask)
        states = self.encoder_norm(states)
        layers = tuple(layer.cross_attention.prepare(states) for layer in self._decoder_layers())
        return TransformerMemory(layers, src_mask.to(layers[0].keys.device))

    @override
    def initial_state(self, memory: TransformerMemory) -> TransformerState:
        device = self.tgt_embedding.weight.device
        layers = tuple(
            Store(KeysValues(*(projected[:, :, :0].to(device) for projected in layer)), length=0)
            for layer in memory.layers
        )
        steps, rows = torch.zeros(0, dtype=torch.long, device=device), len(memory.mask)
        return TransformerState(layers, rows, steps, 0, rows)

    @override
    def decode(self, memory: TransformerMemory, tgt_in: Tensor) -> Decoded:
        states = self._embed(self.tgt_embedding, self.tgt_positions, tgt_in, 0)
        need_weights = not self.training
        features, _, weights = self._advance(memory, None, states, None, need_weights)
        return Decoded(features, weights)

    @override
    def step(self, memory: TransformerMemory, state: TransformerState, last_token: Tensor) -> Step:
        coming = state.next_step()
        token = last_token.unsqueeze(1)
        states = self._embed(self.tgt_embedding, self.tgt_positions, token, coming.position)
        # Rows that share a store are treated like positions of one target.
        states = states.view(-1, coming.shared, states.shape[2])
        features, layers, weights = self._advance(
            memory, state.layers, states, coming.places(), need_weights=True
        )
        assert weights is not None
        return Step(features.flatten(0, 1), state.after(coming, layers), weights.flatten(0, 1))

    @override
    def parts(self) -> dict[str, Iterable[nn.Module]]:
        layers = list(self._decoder_layers())
        others = chain.from_iterable(layer.beside_cross_attention() for layer in layers)
        tgt_side = (self.tgt_embedding, self.tgt_positions, self.decoder_norm, self.output)
        return {
            "encoder": (self.src_embedding, self.src_positions, self.encoder, self.encoder_norm),
            "attention": [layer.cross_attention for layer in layers],
            "decoder": (*tgt_side, *others),
        }

    @override
    def blocks(self) -> Iterable[nn.Module]:
        return self.layers()

    @override
    def layers(self) -> Iterable[nn.Module]:
        return chain(self.encoder, self.decoder)

    @override
    def limit(self) -> Limit | None:
        if not isinstance(self.src_positions, Learned):
            return None
        length = self.src_positions.table.num_embeddings
        return Limit("model.max_length", length, length)

    def _decoder_layers(self) -> Iterable[DecoderLayer]:
        return cast(Iterable[DecoderLayer], self.decoder)

    def _advance(
        self,
        memory: TransformerMemory,
        past: tuple[Store, ...] | None,
        states: Tensor,
        places: Places | None,
        need_weights: bool,
    ) -> tuple[Tensor, tuple[Store, ...], Tensor | None]:
        """Decode embedded tokens ``(batch, tgt, width)`` after ``past``; see ``DecoderLayer``."""
        mask = memory.mask[:, None, None]
        stores: list[Store] = []
        weights = None
        for number, layer in enumerate(self.decoder):
            last = number == len(self.decoder) - 1
            states, store, weights = layer(
                states,
                None if past is None else past[number],
                memory.layers[number],
                mask,
                need_weights and last,
                places,
            )
            if store is not None:
                stores.append(store)
        return self.decoder_norm(states), tuple(stores), weights

    def _embed(
        self, table: nn.Embedding, positions: InputPositions, tokens: Tensor, start: int
    ) -> Tensor:
        """Return embeddings × √d_model plus positions from ``start`` (sections 3.4 and 3.5)."""
        embedded = table(tokens.to(table.weight.device)) * self.embedding_scale
        placed: Tensor = self.dropout(positions(embedded, start))
        return placed


def joined(pieces: Sequence[TransformerMemory], order: Tensor, width: int) -> TransformerMemory:
    """Put memories together, padded to ``width`` positions, and pick sentences by ``order``."""

    def together(parts: Iterable[Tensor], last: int) -> Tensor:
        """Join along the batch; ``last`` is the number of dimensions behind the positions."""
        padding = (0, 0) * last
        padded = (pad(part, (*padding, 0, width - part.shape[-1 - last])) for part in parts)
        return torch.cat(list(padded)).index_select(0, order)

    layers = zip(*(piece.layers for piece in pieces), strict=True)
    return TransformerMemory(
        tuple(
            KeysValues(*(together(parts, 1) for parts in zip(*layer, strict=True)))
            for layer in layers
        ),
        together((piece.mask for piece in pieces), 0),
    )


def head_sizes(
    width: int, heads: int, key_size: int | None, value_size: int | None
) -> tuple[int, int]:
    """Return d_k and d_v; None becomes width / heads.

    Raises ``ValueError`` if ``heads`` does not divide the width then.
    """
    if None in (key_size, value_size) and width % heads:
        raise ValueError(
            f"model.heads={heads}: must divide model.width={width}, unless model.key_size and "
            "model.value_size are set"
        )
    return key_size or width // heads, value_size or width // heads


def check_even(positions: Positions, width: int, key_size: int) -> None:
    """Raise ``ValueError`` for an odd size, which has no pairs of a sine and a cosine."""
    if positions == "sinusoidal" and width % 2:
        raise ValueError(f"model.width={width}: sinusoidal positions need an even width")
    if positions == "rotary" and key_size % 2:
        raise ValueError(f"model.key_size={key_size}: rotary positions need an even size")
