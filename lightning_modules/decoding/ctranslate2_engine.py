"""Translating with CTranslate2 (``task=translate engine=ctranslate2``), for Transformers.

CTranslate2 is an optional library of its own kernels. Greedy search is the same search. Its beam
search differs in one point from ``BeamSearch``: finished hypotheses take no place in the beam.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import torch
from torch import Tensor

from datamodules.errors import UserError
from datamodules.tokenization import BOS, PAD
from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.ctranslate2_model import write_model
from lightning_modules.decoding.search import GreedySearch, Hypothesis, Search
from lightning_modules.variants.base import EncoderDecoder
from lightning_modules.variants.transformer import Transformer
from lightning_modules.variants.transformer.heads import MultiHeadAttention
from lightning_modules.variants.transformer.positions import AttentionPositions

SETTING = "engine=ctranslate2"
GREEDY = BeamSearch(1, length_penalty=0)
"""Greedy search as a beam search."""


class Ctranslate2Engine:
    """Translates batches as a ``Search`` does, without attention weights.

    Args:
        model: a Transformer in evaluation mode.
        search: greedy or beam search, whose settings apply.
        longest: most tokens of a source, EOS included.

    Raises:
        UserError: for a model or a search that CTranslate2 cannot express, or without the library.
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
        self,
        model: EncoderDecoder,
        src: Tensor,
        src_mask: Tensor,
        src_lengths: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first; see ``Search``."""
        lengths = src_mask.sum(1) if src_lengths is None else src_lengths
        found: list[list[Hypothesis]] = [[] for _ in src]
        for length in lengths.unique().tolist():  # the limit belongs to a whole call
            rows = (lengths == length).nonzero().squeeze(1).tolist()
            sentences = [list(map(str, src[row, :length].tolist())) for row in rows]
            for row, hypotheses in zip(rows, self._translate(sentences, length), strict=True):
                found[row] = hypotheses
        return found

    def _limit(self, length: int) -> int:
        return max(1, int(self._search.max_ratio * length + self._search.max_extra))

    def _translate(self, sentences: list[list[str]], length: int) -> list[list[Hypothesis]]:
        beam = self._search if isinstance(self._search, BeamSearch) else GREEDY
        results = self._translator.translate_batch(
            sentences,
            beam_size=beam.beam_size,
            num_hypotheses=beam.beam_size,
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
            pairs = zip(result.hypotheses, result.scores, strict=True)
            hypotheses = [
                Hypothesis(tokens, score / beam.penalty(len(tokens)), None)
                for names, score in pairs
                for tokens in [list(map(int, names))]
            ]
            hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
            ranked.append(hypotheses[: beam.n_best])
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


def _expressible(model: EncoderDecoder, search: Search) -> Transformer:
    """Return the model. Raises ``UserError`` for what CTranslate2 cannot express."""
    if not isinstance(model, Transformer):
        kind = type(model).__name__
        raise UserError(f"{SETTING}: needs one Transformer, not a model {kind}; set engine=torch")
    if type(search) not in (GreedySearch, BeamSearch):
        raise UserError(f"{SETTING}: has greedy and beam search alone; set decoding=beam")
    if search.bf16:
        raise UserError(f"{SETTING}: computes in float32 or int8; set decoding.bf16=false")
    attention = next(part for part in model.modules() if isinstance(part, MultiHeadAttention))
    if type(attention.positions) is not AttentionPositions:
        raise UserError(
            f"{SETTING}: needs a model with sinusoidal or learned positions; set engine=torch"
        )
    width = model.tgt_embedding.embedding_dim
    sizes = {attention.key.out_features, attention.value.out_features, width}
    if len(sizes) > 1:
        raise UserError(
            f"{SETTING}: needs a model whose keys and values have width / heads numbers; "
            "set engine=torch"
        )
    return model
