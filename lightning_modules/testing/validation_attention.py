"""How attention forms: its weights on two validation sentences at each validation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from lightning_modules.metrics.sentences import most_readable
from lightning_modules.metrics.word_alignment import parse_gold
from lightning_modules.runs.files import write_attention_history
from lightning_modules.runs.schema import AttentionHistory, SentenceHistory
from lightning_modules.testing.forced_decoding import merge_words

LONG_WORDS = 40
"""Most words of the second sentence, which shows long distances; the first is easily read."""
MOST_VALIDATIONS = 32  # most validations that are kept, which keeps the file small


def is_kept(validation: int, of: int) -> bool:
    """Whether a validation is kept when ``of`` have taken place; both count from 1.

    Of many, every second is kept, every fourth, …, and the last. What is kept does not depend on
    what was kept before, so that an interrupted training ends with the same.
    """
    every = 1 << ((of - 1) // MOST_VALIDATIONS).bit_length()
    return validation % every == 0 or validation == of


class ValidationAttention(pl.Callback):
    """Keep the attention on two validation sentences in ``attention_history.npz`` in ``folder``.

    The model is forced to write the references, so that the maps differ only by what it has learned
    in between. Its weights are those that are validated: list this callback after the one of a
    moving average. All ranks compute, and the first writes. Without attention there is no file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.validations = 0  # number of validations so far
        self._kept: dict[int, list[Tensor]] = {}
        """Weights ``(tgt words, src words)`` of each sentence by the number of the validation."""
        self._newest: list[Tensor] = []
        self._sentences: list[SentenceHistory] = []  # as yet without weights
        self._rows: list[int] = []  # their places among the validation pairs

    @property
    def history(self) -> AttentionHistory | None:
        """What is kept; None without attention, and before the first validation."""
        if not self._kept or not self._sentences:
            return None
        by_sentence = zip(*self._kept.values(), strict=True)
        return AttentionHistory(
            [*self._kept],
            [
                sentence._replace(weights=torch.stack(weights).numpy())
                for sentence, weights in zip(self._sentences, by_sentence, strict=True)
            ],
        )

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Choose the sentences: a training that continues may begin with a validation."""
        self._choose(trainer, pl_module)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write what a training has kept that was interrupted, or had a smaller budget."""
        self._write(trainer)

    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Compute the weights before the first batch, after which a moving average is gone.

        They count at the end alone: a validation that a signal ends takes place again.
        """
        self._newest = self._compute(trainer, pl_module)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep the weights, leave out older ones if there are many, and write the file."""
        self.validations += 1
        if self._newest:
            self._kept[self.validations] = self._newest
            self._kept = {
                number: weights
                for number, weights in self._kept.items()
                if is_kept(number, self.validations)
            }
            self._write(trainer)

    def state_dict(self) -> dict[str, Any]:
        """Return what is kept."""
        return {"validations": self.validations, "kept": dict(self._kept)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what an earlier training has kept."""
        self.validations, self._kept = state_dict["validations"], dict(state_dict["kept"])

    def _choose(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Choose an easily read sentence, and a long one, if there is another."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        text, ids = data.text("val"), data.validation_pairs.ids.tolist()
        lines, rule = [text.source[number] for number in ids], pl_module.rules.source
        chosen = (most_readable(lines, rule), most_readable(lines, rule, LONG_WORDS))
        self._rows = list(dict.fromkeys(chosen))
        self._sentences = [
            SentenceHistory(
                number,
                text.source[number],
                text.target[number],
                sorted(parse_gold(text.alignments[number]).possible) if text.alignments else [],
                np.zeros((0, 0, 0)),
            )
            for number in (ids[row] for row in self._rows)
        ]

    def _compute(self, trainer: pl.Trainer, pl_module: Any) -> list[Tensor]:
        """Return the weights of each sentence in 16 bits; nothing without attention."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        pairs = data.validation_pairs[np.array(self._rows)]
        batch = pl_module.transfer_batch_to_device(pairs, pl_module.device, 0)
        with trainer.precision_plugin.val_step_context():
            weights = pl_module.model.decode(
                pl_module.model.encode(*batch.source), batch.tgt_in
            ).weights
        if weights is None:
            return []
        return [
            torch.from_numpy(merge_words(of_one, each.source, each.target, data.tokenizers)).half()
            for of_one, each in zip(weights.float().cpu(), self._sentences, strict=True)
        ]

    def _write(self, trainer: pl.Trainer) -> None:
        if trainer.is_global_zero and (history := self.history) is not None:
            write_attention_history(self.folder, history)
