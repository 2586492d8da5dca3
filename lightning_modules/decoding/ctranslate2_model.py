"""A Transformer, written as a model of CTranslate2.

A token's name there is its number. Layers, norms and tables have the same formulas; CTranslate2
stores the projections of queries, keys and values as one matrix.
"""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from datamodules.tokenization import BOS, EOS, UNK
from lightning_modules.variants.transformer import Transformer
from lightning_modules.variants.transformer.heads import MultiHeadAttention
from lightning_modules.variants.transformer.layers import DecoderLayer, EncoderLayer, FeedForward


@torch.no_grad()
def write_model(library: ModuleType, model: Transformer, positions: int, folder: Path) -> None:
    """Write ``model`` into ``folder``.

    Args:
        library: the module ``ctranslate2``.
        model: with positions at the input, and keys and values of width / heads.
        positions: number of positions of each side.
        folder: an empty folder.
    """
    encoder = cast(Sequence[EncoderLayer], model.encoder)
    decoder = cast(Sequence[DecoderLayer], model.decoder)
    pre_norm = isinstance(model.encoder_norm, nn.LayerNorm)
    spec: Any = library.specs.TransformerSpec.from_config(
        (len(encoder), len(decoder)), encoder[0].attention.heads, pre_norm=pre_norm
    )
    [src_table] = spec.encoder.embeddings
    for side, written, table, encoding, norm in (
        (spec.encoder, src_table, model.src_embedding, model.src_positions, model.encoder_norm),
        (
            *(spec.decoder, spec.decoder.embeddings, model.tgt_embedding),
            *(model.tgt_positions, model.decoder_norm),
        ),
    ):
        written.weight = _array(table.weight)
        side.position_encodings.encodings = _array(_encodings(encoding, positions, table))
        if isinstance(norm, nn.LayerNorm):
            _set_norm(side.layer_norm, norm)
    for layer_spec, encoder_layer in zip(spec.encoder.layer, encoder, strict=True):
        _set_self_attention(layer_spec.self_attention, encoder_layer.attention)
        _set_norm(layer_spec.self_attention.layer_norm, encoder_layer.around_attention.norm)
        _set_feed_forward(layer_spec.ffn, encoder_layer.feed_forward)
        _set_norm(layer_spec.ffn.layer_norm, encoder_layer.around_feed_forward.norm)
    for layer_spec, layer in zip(spec.decoder.layer, decoder, strict=True):
        _set_self_attention(layer_spec.self_attention, layer.self_attention)
        _set_norm(layer_spec.self_attention.layer_norm, layer.around_self_attention.norm)
        _set_cross_attention(layer_spec.attention, layer.cross_attention)
        _set_norm(layer_spec.attention.layer_norm, layer.around_cross_attention.norm)
        _set_feed_forward(layer_spec.ffn, layer.feed_forward)
        _set_norm(layer_spec.ffn.layer_norm, layer.around_feed_forward.norm)
    _set_linear(spec.decoder.projection, model.output)
    spec.register_source_vocabulary(_names(model.src_embedding))
    spec.register_target_vocabulary(_names(model.tgt_embedding))
    spec.config.bos_token = spec.config.decoder_start_token = str(BOS)
    spec.config.eos_token, spec.config.unk_token = str(EOS), str(UNK)
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _names(table: nn.Embedding) -> list[str]:
    return [str(token) for token in range(table.num_embeddings)]


def _encodings(encoding: nn.Module, positions: int, table: nn.Embedding) -> Tensor:
    """Return what a position encoding adds at each position, ``(positions, width)``."""
    nothing = torch.zeros(1, positions, table.embedding_dim)
    added: Tensor = encoding(nothing, 0)
    return added[0]


def _set_self_attention(spec: Any, attention: MultiHeadAttention) -> None:
    _set_linear(spec.linear[0], attention.query, attention.key, attention.value)
    _set_linear(spec.linear[1], attention.out)


def _set_cross_attention(spec: Any, attention: MultiHeadAttention) -> None:
    _set_linear(spec.linear[0], attention.query)
    _set_linear(spec.linear[1], attention.key, attention.value)
    _set_linear(spec.linear[2], attention.out)


def _set_feed_forward(spec: Any, layers: FeedForward) -> None:
    first, _, second = layers
    _set_linear(spec.linear_0, cast(nn.Linear, first))
    _set_linear(spec.linear_1, cast(nn.Linear, second))


def _set_linear(spec: Any, *layers: nn.Linear) -> None:
    """Set a linear layer to the rows of all ``layers``."""
    spec.weight = _array(torch.cat([layer.weight for layer in layers]))
    spec.bias = _array(torch.cat([layer.bias for layer in layers]))


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().float().numpy()
    return array
