"""A Transformer on packed sentences: the same layers over streams of tokens without padding."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from datamodules.batching import PackedBatch
from lightning_modules.kernels.packed_attention import Spans
from lightning_modules.variants.transformer.layers import DecoderLayer, EncoderLayer, enter
from lightning_modules.variants.transformer.mixers import SelfAttention

if TYPE_CHECKING:
    from lightning_modules.variants.transformer.model import Transformer


class Parts(NamedTuple):
    """The functions of a pass, compiled or not."""

    enter: Callable[..., Tensor]
    encode: Callable[..., Tensor]
    decode: Callable[..., Tensor]


def encode(layer: EncoderLayer, states: Tensor, spans: Spans) -> Tensor:
    """Return what an encoder layer does to a stream ``(room, width)``."""
    assert isinstance(layer.mixer, SelfAttention)
    attend = layer.mixer.attend_packed
    states = layer.around_mixer.around(states, lambda inputs: attend(inputs, inputs, spans))
    return layer.feed(states)


def decode(
    layer: DecoderLayer, states: Tensor, memory: Tensor, earlier: Spans, source: Spans
) -> Tensor:
    """Return what a decoder layer does to a stream ``(room, width)``.

    ``memory`` ``(room, width)`` is the encoded stream of the source.
    """
    assert isinstance(layer.mixer, SelfAttention)
    attend = layer.mixer.attend_packed
    states = layer.around_mixer.around(states, lambda inputs: attend(inputs, inputs, earlier))
    if layer.cross_attention is not None:
        query = layer.around_cross_attention.enter(states)
        attended = layer.cross_attention.attend_packed(query, memory, source)
        states = layer.join(states, query, attended)
    return layer.feed(states)


PARTS = Parts(enter, encode, decode)


def compiled_parts(**options: Any) -> Parts:
    """Compile each function once for all layers and batches, whose shapes are the same."""
    return Parts(*(torch.compile(part, dynamic=False, **options) for part in PARTS))


def packed_features(model: "Transformer", parts: Parts, packed: PackedBatch) -> Tensor:
    """Return the features of all target places, ``(room, width)``."""
    encoder, decoder, across = spans_of(packed)
    scale, dropout = model.embedding_scale, model.dropout
    embedded = model.src_embedding(packed.src)
    states = parts.enter(embedded, scale, model.src_positions, encoder.positions, dropout)
    for layer in model.encoder:
        states = parts.encode(layer, states, encoder)
    memory = model.encoder_norm(states)
    embedded = model.tgt_embedding(packed.tgt_in)
    states = parts.enter(embedded, scale, model.tgt_positions, decoder.positions, dropout)
    for layer in model.decoder:
        states = parts.decode(layer, states, memory, decoder, across)
    return model.decoder_norm(states)


def spans_of(packed: PackedBatch) -> tuple[Spans, Spans, Spans]:
    """Return the spans of the encoder's, of the causal and of the attention to the source."""
    src, tgt, src_of_tgt, tgt_of_src = packed[3:]
    (first, end), places = tgt, torch.arange(tgt.shape[1], dtype=tgt.dtype, device=tgt.device)
    return (
        Spans(*src, *src),
        Spans(first, torch.minimum(places + 1, end), places, end),
        Spans(*src_of_tgt, *tgt_of_src),
    )
