"""How a training or a test ends when it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.errors import TerminatedError


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn what Lightning raises on SIGTERM and Ctrl-C into what the program ends with."""
    try:
        yield
    except SIGTERMException:
        raise TerminatedError from None
    except SystemExit:  # how Lightning answers Ctrl-C
        raise KeyboardInterrupt from None


class EndedBySigterm(pl.Callback):
    """End a test on SIGTERM, which Lightning does not."""

    def on_predict_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Between two batches."""
        if trainer.received_sigterm:
            raise SIGTERMException
