"""Translating with CTranslate2 (``task=translate engine=ctranslate2``), for Transformers.

CTranslate2 is an optional library of its own kernels. Greedy search is the same search. Its beam
search differs in one point from ``BeamSearch``: finished hypotheses take no place in the beam.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from datamodules.errors import UserError
from datamodules.tokenization import BOS, EOS, PAD, UNK
from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.greedy import GreedySearch
from lightning_modules.decoding.search import Hypothesis, Search
from lightning_modules.variants import Transformer
from lightning_modules.variants.base import EncoderDecoder
from lightning_modules.variants.transformer.heads import MultiHeadAttention
from lightning_modules.variants.transformer.layers import Connection, DecoderLayer, FeedForward
from lightning_modules.variants.transformer.mixers import SelfAttention

SETTING = "engine=ctranslate2"


@torch.no_grad()
def write_model(library: ModuleType, model: Transformer, positions: int, folder: Path) -> None:
    """Write a model with ``positions`` at each input, by the module ``ctranslate2``."""
    encoder, decoder = cast(Sequence[Any], model.encoder), cast(Sequence[Any], model.decoder)
    pre_norm = isinstance(model.encoder_norm, nn.LayerNorm)
    spec: Any = library.specs.TransformerSpec.from_config(
        (len(encoder), len(decoder)), encoder[0].mixer.heads, pre_norm=pre_norm
    )
    [src_table] = spec.encoder.embeddings
    sides = (
        (spec.encoder, src_table, model.src_embedding, model.src_positions),
        (spec.decoder, spec.decoder.embeddings, model.tgt_embedding, model.tgt_positions),
    )
    for side, written, table, encoding in sides:
        written.weight = _array(table.weight)
        nothing = torch.zeros(1, positions, table.embedding_dim)
        side.position_encodings.encodings = _array(encoding(nothing, torch.arange(positions))[0])
    if pre_norm:
        _set_norm(spec.encoder.layer_norm, model.encoder_norm)
        _set_norm(spec.decoder.layer_norm, model.decoder_norm)
    for written, layer in zip(spec.encoder.layer, encoder, strict=True):
        _set_attention(written.self_attention, layer.mixer, layer.around_mixer)
        _set_feed_forward(written.ffn, layer.feed_forward, layer.around_feed_forward)
    for written, layer in zip(spec.decoder.layer, decoder, strict=True):
        _set_attention(written.self_attention, layer.mixer, layer.around_mixer)
        _set_attention(written.attention, layer.cross_attention, layer.around_cross_attention)
        _set_feed_forward(written.ffn, layer.feed_forward, layer.around_feed_forward)
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


def _set_attention(spec: Any, attention: MultiHeadAttention, around: Connection) -> None:
    query, keys = (attention.query,), (attention.key, attention.value)
    groups = [(*query, *keys)] if len(spec.linear) == 2 else [query, keys]
    for written, layers in zip(spec.linear, [*groups, (attention.out,)], strict=True):
        _set_linear(written, *layers)
    _set_norm(spec.layer_norm, around.norm)


def _set_feed_forward(spec: Any, layers: FeedForward, around: Connection) -> None:
    first, _, second = layers
    _set_linear(spec.linear_0, cast(nn.Linear, first))
    _set_linear(spec.linear_1, cast(nn.Linear, second))
    _set_norm(spec.layer_norm, around.norm)


def _set_linear(spec: Any, *layers: nn.Linear) -> None:
    """Set a linear layer to the rows of all ``layers``."""
    spec.weight = _array(torch.cat([layer.weight for layer in layers]))
    spec.bias = _array(torch.cat([layer.bias for layer in layers]))


def _set_norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().float().numpy()
    return array


class Ctranslate2Engine:
    """Translates batches as greedy or beam search does, without attention weights.

    The longest source has ``longest`` tokens, EOS included. Raises ``UserError`` for a model or a
    search that CTranslate2 cannot express, or without the library.
    """

    def __init__(self, model: EncoderDecoder, search: Search, longest: int) -> None:
        library = _library()
        transformer = _expressible(model, search)
        self._search = search
        positions = max(longest, self._limit(longest))
        with TemporaryDirectory() as folder:
            write_model(library, transformer, positions, Path(folder))
            self._translator = library.Translator(
                folder,
                device="cpu",
                compute_type="int8_float32" if search.int8 else "float32",
                inter_threads=1,
                intra_threads=torch.get_num_threads(),
            )

    def __call__(
        self, model: EncoderDecoder, src: Tensor, src_mask: Tensor
    ) -> list[list[Hypothesis]]:
        """See ``Search``."""
        lengths = src_mask.sum(1)
        found: list[list[Hypothesis]] = [[] for _ in src]
        for length in lengths.unique().tolist():  # the limit belongs to a whole call
            rows = (lengths == length).nonzero().squeeze(1).tolist()
            sentences = [list(map(str, src[row, :length].tolist())) for row in rows]
            for row, hypotheses in zip(rows, self._translate(sentences, length), strict=True):
                found[row] = hypotheses
        return found

    def _limit(self, length: int) -> int:
        return int(self._search.longest(torch.tensor(length)))

    def _translate(self, sentences: list[list[str]], length: int) -> list[list[Hypothesis]]:
        beam = self._search if isinstance(self._search, BeamSearch) else None
        beam_size = 1 if beam is None else beam.beam_size
        results = self._translator.translate_batch(
            sentences,
            beam_size=beam_size,
            num_hypotheses=beam_size,
            length_penalty=0,
            return_scores=True,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=self._limit(length),
            suppress_sequences=[[str(PAD)], [str(BOS)]],
            return_end_token=True,
        )
        ranked = []
        for result in results:
            hypotheses = []
            for names, score in zip(result.hypotheses, result.scores, strict=True):
                penalty = 1.0 if beam is None else beam.penalty(len(names))
                hypotheses.append(Hypothesis([int(name) for name in names], score / penalty, None))
            hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
            ranked.append(hypotheses[: 1 if beam is None else beam.n_best])
        return ranked


def _library() -> ModuleType:
    try:
        import ctranslate2
    except ImportError:
        raise UserError(
            f"{SETTING}: the library is not installed; run pip install "
            "'attention-bench[ctranslate2]'"
        ) from None
    module: ModuleType = ctranslate2
    return module


def _is_whole(layer: Any) -> bool:
    """Return whether a layer has the parts of Vaswani et al. 2017."""
    around = layer.around_mixer
    return (
        isinstance(layer.mixer, SelfAttention)
        and around.residual
        and isinstance(around.norm, nn.LayerNorm)
        and layer.feed_forward is not None
        and not (isinstance(layer, DecoderLayer) and layer.cross_attention is None)
    )


def _expressible(model: EncoderDecoder, search: Search) -> Transformer:
    """Return the model. Raises ``UserError`` for what CTranslate2 cannot express."""
    if not isinstance(model, Transformer):
        kind = type(model).__name__
        raise UserError(f"{SETTING}: needs one Transformer, not a model {kind}; set engine=torch")
    if type(search) not in (GreedySearch, BeamSearch):
        raise UserError(f"{SETTING}: has greedy and beam search alone; set decoding=beam")
    for setting in ("min_length", "no_repeat_ngram", "length"):
        if (value := getattr(search, setting)) is not None:
            raise UserError(f"{SETTING}: respects no decoding.{setting}={value}; set engine=torch")
    if isinstance(search, BeamSearch) and search.coverage.strength:
        raise UserError(f"{SETTING}: has no decoding.coverage_penalty; set engine=torch")
    if search.bf16:
        raise UserError(f"{SETTING}: computes in float32 or int8; set decoding.bf16=false")
    if not all(_is_whole(layer) for layer in (*model.encoder, *model.decoder)):
        raise UserError(
            f"{SETTING}: needs a Transformer with all its parts, and self-attention in each layer; "
            "set engine=torch"
        )
    if not set(model.positions.values()) <= {"sinusoidal", "shifted", "learned", "none"}:
        raise UserError(
            f"{SETTING}: needs a model with sinusoidal or learned positions; set engine=torch"
        )
    attention = next(part for part in model.modules() if isinstance(part, MultiHeadAttention))
    width = model.tgt_embedding.embedding_dim
    sizes = {attention.key.out_features, attention.value.out_features, width}
    if len(sizes) > 1:
        raise UserError(
            f"{SETTING}: needs a model whose keys and values have width / heads numbers; "
            "set engine=torch"
        )
    return model
