"""Vaswani et al. 2017 (arXiv 1706.03762): the Transformer."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
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
    DecoderLayer,
    EncoderLayer,
    TransformerOptions,
    enter,
)
from lightning_modules.variants.transformer.mixers import SelfAttention
from lightning_modules.variants.transformer.packed import PARTS, compiled_parts, packed_features
from lightning_modules.variants.transformer.positions import (
    InputPositions,
    LearnedPositions,
    Relative,
    Sinusoidal,
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


SearchState = TransformerState | Slots


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
        width, positions = chosen.width, chosen.positions
        placement = chosen.placement or Placement()
        super().__init__(src_vocabulary, tgt_vocabulary, width, width, chosen.tied, placement)
        # Pairs of a sine and a cosine.
        if positions == "sinusoidal" and width % 2:
            raise ValueError(f"model.width={width}: sinusoidal positions need an even width")
        key_size, _ = chosen.head_sizes
        if positions == "rotary" and key_size % 2:
            raise ValueError(f"model.key_size={key_size}: rotary positions need an even size")
        mixers = chosen.encoder_mixer, chosen.decoder_mixer
        if positions in ("rotary", "relative") and "attention" not in mixers:
            raise ValueError(
                f"model.positions={positions}: is a part of self-attention, and neither "
                "model.encoder_mixer nor model.decoder_mixer is attention; set sinusoidal, learned "
                "or none"
            )
        kinds: dict[str, Callable[[], InputPositions]] = {
            "sinusoidal": Sinusoidal,
            "learned": partial(LearnedPositions, width, chosen.max_length),
        }
        at_input = kinds.get(positions, InputPositions)
        self.src_positions, self.tgt_positions = at_input(), at_input()
        self.dropout = nn.Dropout(chosen.dropout)
        self.encoder: Any = nn.ModuleList(
            EncoderLayer(chosen) for _ in range(chosen.encoder_layers)
        )
        every, last = chosen.cross_attention == "every", chosen.decoder_layers - 1
        self.decoder: Any = nn.ModuleList(
            DecoderLayer(chosen, attends=every or number == last)
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
        for layer in self.encoder:
            states = layer(states, mask)
        states = self.encoder_norm(states)
        layers = tuple(attention.prepare(states) for attention in self.parts()["attention"])
        return TransformerMemory(layers, src_mask.to(layers[0].keys.device))

    @override
    def cannot_pack(self) -> str | None:
        if type(self) is not Transformer:
            return super().cannot_pack()
        if any(isinstance(part, Relative) for part in self.modules()):
            return "model.positions=relative needs the weights of each pair of positions"
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
        return empty_slots(memory.layers[-1:] * len(self.decoder), rows, positions)

    @override
    def step(self, memory: TransformerMemory, state: SearchState, last_token: Tensor) -> Step:
        if isinstance(state, Slots):
            return self._step_in_slots(memory, state, last_token)
        features, state, weights = self._advance(memory, state, last_token.unsqueeze(1), True)
        assert weights is not None
        return Step(features.squeeze(1), state, weights.squeeze(1))

    @override
    def parts(self) -> dict[str, Iterable[nn.Module]]:
        layers = list(self.decoder)
        others = chain.from_iterable(layer.parts_of_decoder() for layer in layers)
        tgt_side = (self.tgt_embedding, self.tgt_positions, self.decoder_norm, self.output)
        return {
            "encoder": (self.src_embedding, self.src_positions, self.encoder, self.encoder_norm),
            "attention": [
                layer.cross_attention for layer in layers if layer.cross_attention is not None
            ],
            "decoder": (*tgt_side, *others),
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
        if not isinstance(self.src_positions, LearnedPositions):
            return None
        length = self.src_positions.table.num_embeddings
        return Limit("model.max_length", length, length)

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
        layers, weights, last = [], None, self.decoder[-1]
        for number, (layer, source) in enumerate(self._with_sources(memory)):
            before = None if past is None else past.layers[number]
            states, after, weights = layer(
                states, before, source, memory.mask, need_weights and layer is last
            )
            layers.append(after)
        state = None if past is None else TransformerState(tuple(layers), past.position + 1)
        return self.decoder_norm(states), state, weights

    def _with_sources(
        self, memory: TransformerMemory
    ) -> Iterator[tuple[DecoderLayer, KeysValues | None]]:
        """Yield each decoder layer with what it reads of the source, if anything."""
        sources = iter(memory.layers)
        for layer in self.decoder:
            yield layer, None if layer.cross_attention is None else next(sources)

    def _step_in_slots(self, memory: TransformerMemory, state: Slots, last_token: Tensor) -> Step:
        """Decode the position after ``last_token``, which writes into the slots of ``state``."""
        slots, positions, visible = state.now()
        tokens, places = last_token.view(-1, state.rows), positions.index_select(0, slots)
        embedded = self.tgt_embedding(tokens)
        states = enter(embedded, self.embedding_scale, self.tgt_positions, places, self.dropout)
        weights, last = None, self.decoder[-1]
        for known, (layer, source) in zip(state.known(), self._with_sources(memory), strict=True):
            states, weights = layer.step_in_slots(
                states, known, slots, positions, visible, source, memory.mask, layer is last
            )
        assert weights is not None
        features = self.decoder_norm(states).flatten(0, 1)
        return Step(features, state.after(visible), weights.flatten(0, 1))

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
