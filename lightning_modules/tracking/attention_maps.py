"""Heat maps of attention during training."""

import numpy as np
import pytorch_lightning as pl

from lightning_modules.metrics.sentences import readable
from lightning_modules.metrics.word_alignment import parse_gold
from lightning_modules.runs.schema import SentenceAttention
from lightning_modules.testing.forced_decoding import merge_words
from lightning_modules.tracking.trackers.tracker import Tracker
from lightning_modules.training.module import TranslationModule


class AttentionMaps(pl.Callback):
    """At each validation, log a heat map of the attention on one sentence.

    The model is forced to produce the reference, so that the pictures differ only by what the model
    has learnt in between. A model without attention logs nothing.
    """

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw and log the heat map."""
        assert isinstance(pl_module, TranslationModule)
        data = trainer.datamodule  # type: ignore[attr-defined]
        pairs, text = data.encoded_corpus.encoded["val"], data.text("val")
        row = readable([text.source[number] for number in pairs.ids])
        batch = pl_module.transfer_batch_to_device(pairs[np.array([row])], pl_module.device, 0)
        model = pl_module.model
        weights = model.decode(model.encode(*batch.source), batch.tgt_in).weights
        if weights is None:
            return
        number = int(pairs.ids[row])
        source, target = text.source[number], text.target[number]
        words = merge_words(weights[0].float().cpu(), source, target, data.tokenizers)
        sentence = SentenceAttention(
            id=number,
            source_words=source.split(),
            target_words=target.split(),
            weights=words.tolist(),
            gold=sorted(parse_gold(text.alignments[number]).possible) if text.alignments else [],
        )
        self.tracker.log_attention("attention/validation", sentence, trainer.global_step)
