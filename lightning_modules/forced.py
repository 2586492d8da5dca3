"""Forced decoding: the attention of a model that is made to produce given translations."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from datamodules.batching import Batch, EncodedPairs, LengthBatchSampler
from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers
from lightning_modules.metrics.alignments import hard_alignment, word_weights
from lightning_modules.metrics.gold import alignment_error_rate, alignment_statistics, parse_gold
from lightning_modules.variants import EncoderDecoder

Step = Literal["predicted", "read"]
"""Which step's weights belong to a word: that which predicts it, or the next, which reads it."""
StepRule = Literal["predicted", "read", "footnote14"]


class Forced(NamedTuple):
    """The attention with which the tokens of a reference were predicted."""

    id: int
    """The sentence's index in its split."""
    weights: Tensor | None
    """``(tgt, src)`` on the CPU, as wide as the sentence's batch; None without attention."""


class ForcedDecoding(pl.LightningModule):
    """Give a model the references of a split, for ``Trainer.predict``."""

    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        self.model = model

    def predict_step(self, batch: Batch, batch_idx: int = 0) -> list[Forced]:
        """Decode the references of a batch."""
        memory = self.model.encode(batch.src, batch.src_mask)
        weights = self.model.decode(memory, batch.tgt_in).weights
        rows = [None] * len(batch.ids) if weights is None else weights.float().cpu()
        return [Forced(number, row) for number, row in zip(batch.ids.tolist(), rows, strict=True)]


def forced_alignment_error(
    forced: Sequence[Forced], text: ParallelText, tokenizers: Tokenizers
) -> float | None:
    """Compare the strongest link of each reference word with the corpus's gold alignments.

    Luong et al. 2015, section 5.4, by the step that predicts the word. None for a model without
    attention or a corpus without gold links.
    """
    if text.alignments is None:
        return None
    found, gold = [], []
    for number, weights in forced:
        if weights is None:
            return None
        merged = merge_words(weights, text.source[number], text.target[number], tokenizers)
        found.append(hard_alignment(merged))
        gold.append(parse_gold(text.alignments[number]))
    error = float(alignment_error_rate(alignment_statistics(found, gold).sum(0)))
    return None if np.isnan(error) else error


def forced_head_weights(
    model: EncoderDecoder, pairs: EncodedPairs, decode_max_tokens: int
) -> Iterator[tuple[int, Tensor]]:
    """Yield for each pair its id and all weights ``(layers, heads, tgt, src)``, with padding.

    Nothing for a model without attention. Raises ``UserError`` as ``LengthBatchSampler`` does.
    """
    option = "batching.decode_max_tokens"
    for rows in LengthBatchSampler(pairs, decode_max_tokens, option=option):
        batch = pairs[rows]
        with torch.no_grad():
            memory = model.encode(batch.src, batch.src_mask)
            weights = model.head_weights(memory, batch.tgt_in)
        if weights is None:
            return
        yield from zip(batch.ids.tolist(), weights, strict=True)


def step_by_rule(rule: StepRule, model: EncoderDecoder) -> Step:
    """Return the step that ``rule`` means for ``model``.

    ``footnote14`` is Luong et al. 2015's: with scores that look at the source the weights belong
    to the word that is read, with location's to the word that is predicted.
    """
    if rule == "footnote14":
        return "read" if model.looks_at_source else "predicted"
    return rule


def weights_at(step: Step, weights: Tensor) -> Tensor:
    """Give each target token its weights: ``(…, tgt, src)`` by step -> ``(…, tgt, src)`` by token.

    Step t reads token t - 1 and predicts token t. EOS, which no step reads, has no weights of its
    own in ``read``.
    """
    return weights if step == "predicted" else pad(weights[..., 1:, :], (0, 0, 0, 1))


def merge_words(
    weights: Tensor, source: str, target: str, tokenizers: Tokenizers
) -> NDArray[np.float64]:
    """Merge weights (…, tgt, src) by token, maybe padded, to (…, target words, source words)."""
    src_words = [*tokenizers.source.words_of_line(source), -1]  # EOS belongs to no word
    tgt_words = [*tokenizers.target.words_of_line(target), -1]
    real = weights[..., : len(tgt_words), : len(src_words)]
    return word_weights(real.numpy(), src_words, tgt_words)
