"""Forced decoding: the attention of a model that is made to produce the references."""

from collections.abc import Sequence
from typing import NamedTuple

import pytorch_lightning as pl

from datamodules.batching import Batch
from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics.alignments import (
    alignment_error_rate,
    hard_alignment,
    parse_pharaoh,
)
from lightning_modules.scoring import words_attention
from lightning_modules.variants import EncoderDecoder


class Forced(NamedTuple):
    """A reference with the attention that its tokens were predicted with."""

    id: int
    """The sentence's index in its split."""
    reference: Hypothesis


class ForcedDecoding(pl.LightningModule):
    """Give a model the references of a split, for ``Trainer.predict``."""

    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        self.model = model

    def predict_step(self, batch: Batch, batch_idx: int = 0) -> list[Forced]:
        """Decode the references of a batch."""
        memory = self.model.encode(batch.src, batch.src_mask)
        weights = self.model.decode(memory, batch.tgt_in).weights
        forced = []
        for row, (number, length) in enumerate(
            zip(batch.ids.tolist(), batch.tgt_mask.sum(1).tolist(), strict=True)
        ):
            tokens = batch.tgt_out[row, :length].tolist()
            seen = None if weights is None else weights[row, :length].float().cpu()
            forced.append(Forced(number, Hypothesis(tokens, 0.0, seen)))
        return forced


def forced_alignment_error(
    forced: Sequence[Forced], text: ParallelText, tokenizers: Tokenizers
) -> float | None:
    """Compare the strongest link of each reference word with the corpus's gold alignments.

    Luong et al. 2015, section 5.4. None for a model without attention or a corpus without gold.
    """
    if text.alignments is None or not forced or forced[0].reference.weights is None:
        return None
    found = []
    for number, reference in forced:
        weights = words_attention(reference, text.source[number], tokenizers)
        assert weights is not None
        found.append(hard_alignment(weights))
    gold = [parse_pharaoh(text.alignments[number]) for number, _ in forced]
    return alignment_error_rate(found, gold)
