"""Let the C library keep freed memory."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import BaseModel, ConfigDict, NonNegativeInt
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.errors import TerminatedError

# Parameters of mallopt, from <malloc.h>.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
STEP = 256 * 2**20
"""Growth of the heap, in bytes."""
NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for its next tensors.

    glibc returns large blocks to the kernel and requests new blocks at every training step, which
    the kernel zeroes page by page. Return whether the C library took the settings: only glibc has
    these settings.
    """
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # musl and macOS; Windows
        return False
    settings = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: NEVER, M_TOP_PAD: STEP}
    return all(tune(name, value) for name, value in settings.items())


class Seeds(BaseModel):
    """One seed for each purpose, so that one seed can change while the others stay."""

    model_config = ConfigDict(frozen=True)

    initial_weights: NonNegativeInt = 1
    data_order: NonNegativeInt = 1
    """Seed of the order of the training batches."""
    dropout: NonNegativeInt = 1
    """Seed of all draws in an update, scheduled sampling included."""
    decoding: NonNegativeInt = 1
    """Seed of all draws in validation and in the test."""


ALL_ONE = Seeds()


def seed_draws(seed: int, update: int = 0, piece: int = 0) -> None:
    """Seed the generators of the CPU and of CUDA for a piece of an update.

    Checkpoints then need no random state, and a validation or an interruption between two updates
    does not change the second update.
    """
    [mixed] = np.random.SeedSequence((seed, update, piece)).generate_state(1, np.uint64)
    # torch.manual_seed alone takes ten times as long where CUDA is not in use.
    torch.default_generator.manual_seed(int(mixed))
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(int(mixed))


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
