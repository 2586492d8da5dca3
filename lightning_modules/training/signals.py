"""Ending a training or a test on SIGTERM and Ctrl-C."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.errors import TerminatedError


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise ``TerminatedError`` on SIGTERM and ``KeyboardInterrupt`` on Ctrl-C."""
    try:
        yield
    except SIGTERMException:
        raise TerminatedError from None
    except SystemExit:  # how Lightning answers Ctrl-C
        raise KeyboardInterrupt from None


class StopOnSigterm(pl.Callback):
    """End a test on SIGTERM; Lightning itself does not."""

    def on_predict_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """End between two batches."""
        if trainer.received_sigterm:
            raise SIGTERMException
