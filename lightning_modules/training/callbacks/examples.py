"""Example translations, printed during a training."""

import logging

import pytorch_lightning as pl
from pydantic import NonNegativeInt, validate_call

from lightning_modules.training.module import TranslationModule

log = logging.getLogger(__name__)


class ExampleTranslations(pl.Callback):
    """At each validation, print source, reference and hypothesis of the same ``count`` sentences.

    The examples are spread over the validation sentences, short and long.
    """

    @validate_call
    def __init__(self, count: NonNegativeInt) -> None:
        self.count = count

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the examples."""
        if not trainer.is_global_zero:
            return
        assert isinstance(pl_module, TranslationModule)
        text = trainer.datamodule.text("val")  # type: ignore[attr-defined]
        ids = sorted(pl_module.validated)
        for number in range(min(self.count, len(ids))):
            chosen = ids[(2 * number + 1) * len(ids) // (2 * self.count)]
            log.info("  source      %s", text.source[chosen])
            log.info("  reference   %s", text.target[chosen])
            log.info("  hypothesis  %s", pl_module.validated[chosen])
