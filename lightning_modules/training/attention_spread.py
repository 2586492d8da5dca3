"""How far attention spreads: from 0, all weight on one source token, to 1, equal weights."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from datamodules.batching import Batch
from lightning_modules.ranks.updates import gather_by_key
from lightning_modules.training.validations import VAL_SPREAD

Spreads = tuple[float, int]
"""The sum of the spreads of target tokens, and the number of these tokens."""


def spreads_of(weights: Tensor | None, batch: Batch) -> Spreads:
    """Return the spreads of all real target tokens of ``weights`` ``(batch, tgt, src)``.

    The spread of a token's weights w over n real source tokens, EOS counted, is
    ``-Σ p ln p / ln n`` with ``p = w / Σ w``: the entropy as a share of that of equal weights.
    Sentences of one token and models without attention (None) have none.
    """
    lengths = batch.lengths[0]
    counted = int(batch.lengths[1][lengths > 1].sum())
    if weights is None or not counted:
        return 0.0, 0
    shares = weights.float() / weights.float().sum(-1, keepdim=True)
    entropies = torch.special.entr(shares).sum(-1)
    largest = torch.from_numpy(lengths).to(weights.device).log().unsqueeze(1)
    real = batch.tgt_mask.to(weights.device) & (largest > 0)
    return float((entropies / largest)[real].double().sum()), counted


def mean_spread(spreads: list[Spreads]) -> float | None:
    """Return the mean over all target tokens of some batches; None without any."""
    total, counted = (sum(parts) for parts in zip(*spreads, strict=True))
    return total / counted if counted else None


class StartSpread(pl.Callback):
    """Log the spread of the validation sentences' attention before the first update.

    Later validations log theirs themselves.
    """

    def __init__(self) -> None:
        self.spread: float | None = None  # None for a model without attention

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Force the references of the validation sentences, unless an update has been made."""
        if trainer.global_step:
            return
        module: Any = pl_module
        spreads: dict[int, Spreads] = {}
        module.eval()
        with torch.no_grad():
            for batch in trainer.datamodule.val_dataloader():  # type: ignore[attr-defined]
                moved = module.transfer_batch_to_device(batch, module.device, 0)
                weights = module.decode(moved).weights
                spreads[int(batch.ids[0])] = spreads_of(weights, moved)
                if weights is None:
                    break
        module.train()
        self.spread = mean_spread(list(gather_by_key(trainer, spreads).values()))
        if self.spread is not None:
            for logger in trainer.loggers:
                logger.log_metrics({VAL_SPREAD: self.spread}, step=0)

    def state_dict(self) -> dict[str, Any]:
        """Return the spread."""
        return {"spread": self.spread}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the spread of an interrupted training."""
        self.spread = state_dict["spread"]
