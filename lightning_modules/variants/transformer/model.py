"""Vaswani et al. 2017 (arXiv 1706.03762): the Transformer."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from typing_extensions import override

from datamodules.batching import PackedBatch
from lightning_modules.kernels.choice import has_triton, kernels_in_use
from lightning_modules.variants.base import (
    DecoderOutput,
    EmbeddedEncoderDecoder,
    Limit,
    Placement,
    Step,
)
from lightning_modules.variants.transformer.heads import KeysValues
from lightning_modules.variants.transformer.layers import (
    RECURRENCES,
    DecoderLayer,
    EncoderLayer,
    TransformerOptions,
    enter,
)
from lightning_modules.variants.transformer.mixers import Mixer, SelfAttention, TwoDirections
from lightning_modules.variants.transformer.packed import PARTS, compiled_parts, packed_features
from lightning_modules.variants.transformer.positions import (
    IN_SELF_ATTENTION,
    InputPositions,
    LearnedPositions,
)
from lightning_modules.variants.transformer.slots import Slots, empty_slots

PIECE = 64  # number of sentences that a CPU encodes together in a search


class TransformerMemory(NamedTuple):
    """The encoded source, projected once for every attention of the decoder to it."""

    layers: tuple[KeysValues, ...]
    """Keys and values of each attention to the source, of the lower decoder layers first."""
    mask: Tensor  # True where a token is real, `(batch, src)`


class TransformerState(NamedTuple):
    """The target so far."""

    layers: tuple[Any, ...]  # what the mixer of each decoder layer keeps, see `Mixer`
    position: Tensor  # of the next token, `(batch,)`, the same for all

    recurrence: Any = ()
    """State of the RNN in the place of positions, rows first; () without one."""


class SlotState(NamedTuple):
    """The target so far, in a captured search; see ``TransformerState``."""

    slots: Slots
    recurrence: Any


SearchState = TransformerState | SlotState


class Transformer(EmbeddedEncoderDecoder):
    """Encoder and decoder of layers without recurrence, unless a recurrence is their mixer.

    With recurrences, and without some of its parts, it is any step between an RNN with attention
    and the Transformer (Domhan 2018, P18-1167). Returned weights are the weights of the last
    decoder layer over the source, averaged over heads. ``options`` are the fields of
    ``TransformerOptions``. Raises ``ValueError`` for sizes that do not fit together, naming the
    override to change.
    """

    options_class = TransformerOptions
    packed_parts = PARTS

    def __init__(self, src_vocabulary: int, tgt_vocabulary: int, **options: Any) -> None:
        chosen = TransformerOptions(**options)
        width = chosen.width
        placement = chosen.placement or Placement()
        super().__init__(src_vocabulary, tgt_vocabulary, width, width, chosen.tied, placement)
        chosen.check_positions()
        self.positions = dict(chosen.sides)
        """The kinds of positions by the settings that choose them."""
        (_, encoder_kind), (_, decoder_kind) = chosen.sides
        self.src_positions = chosen.input_positions(encoder_kind)
        self.tgt_positions = chosen.input_positions(decoder_kind)
        self.src_recurrence: TwoDirections | None = None
        if encoder_kind in RECURRENCES:
            self.src_recurrence = TwoDirections(RECURRENCES[encoder_kind], width, 1)
        self.tgt_recurrence: Mixer | None = None
        if decoder_kind in RECURRENCES:
            self.tgt_recurrence = RECURRENCES[decoder_kind](width, 1, width)
        self.dropout = nn.Dropout(chosen.dropout)
        positions = chosen.attention_positions(encoder_kind, causal=False)
        self.encoder: Any = nn.ModuleList(
            EncoderLayer(chosen, positions) for _ in range(chosen.encoder_layers)
        )
        positions = chosen.attention_positions(decoder_kind, causal=True)
        every, last = chosen.cross_attention == "every", chosen.decoder_layers - 1
        self.decoder: Any = nn.ModuleList(
            DecoderLayer(chosen, positions, attends=every or number == last)
            for number in range(chosen.decoder_layers)
        )
        # A norm before each sublayer leaves the last sum without one.
        self.encoder_norm, self.decoder_norm = (
            nn.LayerNorm(width) if chosen.norm == "before" else nn.Identity() for _ in range(2)
        )
        self.place()

    @property
    @override
    def embedding_scale(self) -> float:
        """Section 3.4: √d_model."""
        return math.sqrt(self.tgt_embedding.embedding_dim)

    @override
    def encode(self, src: Tensor, src_mask: Tensor) -> TransformerMemory:
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
        places = torch.arange(src.shape[1], device=self.src_embedding.weight.device)
        states = self._embed(self.src_embedding, self.src_positions, src, places)
        mask = src_mask.to(states.device)
        if self.src_recurrence is not None:
            states = self.src_recurrence.read(states, mask).to(states.dtype)
        for layer in self.encoder:
            states = layer(states, mask)
        states = self.encoder_norm(states)
        layers = tuple(
            layer.cross_attention.prepare(states)
            for layer in self.decoder
            if layer.cross_attention is not None
        )
        return TransformerMemory(layers, src_mask.to(layers[0].keys.device))

    @override
    def cannot_pack(self) -> str | None:
        if type(self) is not Transformer:
            return super().cannot_pack()
        for setting, kind in self.positions.items():
            if kind in RECURRENCES:
                return f"{setting}={kind} reads the sentences of padded batches"
            if kind in IN_SELF_ATTENTION and kind != "rotary":
                return f"{setting}={kind} needs the weights of each pair of positions"
        if not self._attends_alone(chain(self.encoder, self.decoder)):
            return "a recurrence reads the sentences of padded batches"
        if any(device for _, device in self.placement):
            return "model.placement divides the layers among devices"
        return None if has_triton() else "Triton is not installed"

    @override
    def decode_packed(self, packed: PackedBatch) -> Tensor:
        return packed_features(self, self.packed_parts, packed)

    @override
    def compile_blocks(self, **options: Any) -> None:
        """Compile the layers; on packed sentences, whose shapes never vary, for this shape."""
        if kernels_in_use().packed:
            self.packed_parts = compiled_parts(**options)
        else:
            super().compile_blocks(**options)

    @override
    def initial_state(self, memory: TransformerMemory) -> TransformerState:
        rows, device = len(memory.mask), self.tgt_embedding.weight.device
        like = memory.layers[0].keys.new_empty(0, device=device)
        return TransformerState(
            tuple(layer.mixer.start(rows, like) for layer in self.decoder),
            torch.zeros(rows, dtype=torch.long, device=device),
            self._start_recurrence(rows, like),
        )

    @override
    def decode(self, memory: TransformerMemory, tgt_in: Tensor) -> DecoderOutput:
        features, _, weights = self._advance(memory, None, tgt_in, not self.training)
        return DecoderOutput(features, weights)

    @override
    def constant_state(self, memory: TransformerMemory, rows: int, positions: int) -> SearchState:
        if not self._attends_alone(self.decoder):
            state: TransformerState = super().constant_state(memory, rows, positions)
            return state
        slots = empty_slots(memory.layers[-1:] * len(self.decoder), rows, positions)
        rows *= len(memory.mask)
        return SlotState(slots, self._start_recurrence(rows, memory.layers[0].keys))

    @override
    def step(self, memory: TransformerMemory, state: SearchState, last_token: Tensor) -> Step:
        if isinstance(state, SlotState):
            return self._step_in_slots(memory, state, last_token)
        features, after, weights = self._advance(memory, state, last_token.unsqueeze(1), True)
        assert weights is not None
        return Step(features.squeeze(1), after, weights.squeeze(1))

    @override
    def parts(self) -> dict[str, Iterable[nn.Module]]:
        layers = list(self.decoder)
        others = chain.from_iterable(layer.parts_of_decoder() for layer in layers)
        src_side = self.src_embedding, self.src_positions, self.src_recurrence
        tgt_side = self.tgt_embedding, self.tgt_positions, self.tgt_recurrence
        encoder = *src_side, self.encoder, self.encoder_norm
        decoder = *tgt_side, self.decoder_norm, self.output, *others
        return {
            "encoder": [part for part in encoder if part is not None],
            "attention": [
                layer.cross_attention for layer in layers if layer.cross_attention is not None
            ],
            "decoder": [part for part in decoder if part is not None],
        }

    @override
    def blocks(self) -> Iterable[nn.Module]:
        return self.layers()

    @override
    def layers(self) -> Iterable[nn.Module]:
        return (
            layer
            for layer in chain(self.encoder, self.decoder)
            if not any(isinstance(part, nn.RNNBase) for part in layer.modules())
        )

    @override
    def limit(self) -> Limit | None:
        src, tgt = (
            positions.table.num_embeddings if isinstance(positions, LearnedPositions) else None
            for positions in (self.src_positions, self.tgt_positions)
        )
        return Limit("model.max_length", src, tgt) if src or tgt else None

    def _attends_alone(self, layers: Iterable[Any]) -> bool:
        """Return whether the mixer of every layer is self-attention."""
        return all(isinstance(layer.mixer, SelfAttention) for layer in layers)

    def _advance(
        self,
        memory: TransformerMemory,
        past: TransformerState | None,
        tokens: Tensor,
        need_weights: bool,
    ) -> tuple[Tensor, TransformerState | None, Tensor | None]:
        """Decode a whole target ``(batch, tgt)``, or one token after ``past``.

        See ``DecoderLayer``; there is no state after a whole target.
        """
        if past is None:
            places = torch.arange(tokens.shape[1], device=self.tgt_embedding.weight.device)
        else:
            places = past.position[:1]
        states = self._embed(self.tgt_embedding, self.tgt_positions, tokens, places)
        recurrence: Any = ()
        if past is not None:
            states, recurrence = self._step_recurrence(states, past.recurrence)
        elif self.tgt_recurrence is not None:
            states = self.tgt_recurrence.run(states).to(states.dtype)
        layers, weights, last = [], None, self.decoder[-1]
        for number, (layer, source) in enumerate(self._with_sources(memory)):
            before = None if past is None else past.layers[number]
            states, after, weights = layer(
                states, before, source, memory.mask, need_weights and layer is last
            )
            layers.append(after)
        state = None
        if past is not None:
            state = TransformerState(tuple(layers), past.position + 1, recurrence)
        return self.decoder_norm(states), state, weights

    def _with_sources(
        self, memory: TransformerMemory
    ) -> Iterator[tuple[DecoderLayer, KeysValues | None]]:
        """Yield each decoder layer with what it reads of the source, if anything."""
        sources = iter(memory.layers)
        for layer in self.decoder:
            yield layer, None if layer.cross_attention is None else next(sources)

    def _step_in_slots(
        self, memory: TransformerMemory, state: SlotState, last_token: Tensor
    ) -> Step:
        """Decode the position after ``last_token``, which writes into the slots of ``state``."""
        past = state.slots
        slots, positions, visible = past.now()
        tokens, places = last_token.view(-1, past.rows), positions.index_select(0, slots)
        embedded = self.tgt_embedding(tokens)
        states = enter(embedded, self.embedding_scale, self.tgt_positions, places, self.dropout)
        states, recurrence = self._step_recurrence(states, state.recurrence)
        weights, last = None, self.decoder[-1]
        for known, (layer, source) in zip(past.known(), self._with_sources(memory), strict=True):
            states, weights = layer.step_in_slots(
                states, known, slots, positions, visible, source, memory.mask, layer is last
            )
        assert weights is not None
        features = self.decoder_norm(states).flatten(0, 1)
        return Step(features, SlotState(past.after(visible), recurrence), weights.flatten(0, 1))

    def _start_recurrence(self, rows: int, like: Tensor) -> Any:
        """Return the first state of the RNN in the place of positions, if there is one."""
        return () if self.tgt_recurrence is None else self.tgt_recurrence.start(rows, like)

    def _step_recurrence(self, states: Tensor, before: Any) -> tuple[Tensor, Any]:
        """Read one position of each row, ``(…, width)``, by the RNN in the place of positions."""
        if self.tgt_recurrence is None:
            return states, ()
        read, after = self.tgt_recurrence.step(states.flatten(0, 1), before)
        return read.reshape(states.shape).to(states.dtype), after

    def _embed(
        self, table: nn.Embedding, positions: InputPositions, tokens: Tensor, places: Tensor
    ) -> Tensor:
        """Return the input of the first layer for tokens at ``places`` ``(positions,)``."""
        embedded = table(tokens.to(table.weight.device))
        return enter(embedded, self.embedding_scale, positions, places, self.dropout)


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
