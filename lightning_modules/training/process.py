"""The process of a training or a test: its threads, kernels, memory, random draws and signals."""

import ctypes
import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.errors import TerminatedError
from lightning_modules.kernels import precision
from lightning_modules.kernels.choice import PLAIN, use_kernels
from lightning_modules.kernels.precision import keep_attention_off_cudnn, use_matmul_precision
from lightning_modules.kernels.threads import use_threads
from lightning_modules.ranks.updates import UpdateCallback, flags_of

log = logging.getLogger(__name__)

# Parameters of mallopt, from <malloc.h>.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
STEP = 256 * 2**20  # growth of the heap, in bytes
NEVER = 2**31 - 1


def prepare_process(config: DictConfig) -> None:
    """Set threads, kernels and memory of the process, and keep Lightning's advice out of the log.

    Raises ``UserError`` for products that this torch cannot compute.
    """
    precision.use_products(precision.choose_products(config.products))
    use_matmul_precision(config.matmul_precision)
    use_kernels(PLAIN)  # until the device and the model are known
    keep_attention_off_cudnn()
    if config.keep_memory:
        keep_freed_memory()
    use_threads(config.threads)
    for module in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(module).setLevel(logging.WARNING)
        warnings.filterwarnings("ignore", module=module)
    logging.getLogger("pytorch_lightning.profilers").setLevel(logging.INFO)  # trainer.profiler
    # In mixed precision cuDNN gets weights that have just been cast, and packs them itself.
    warnings.filterwarnings("ignore", message="RNN module weights are not part of single")


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


class Seeds(NamedTuple):
    """One seed for each purpose, so that one seed can change while the others stay."""

    initial_weights: int
    data_order: int  # seed of the order of the training batches
    dropout: int  # seed of all draws in an update, scheduled sampling included
    decoding: int  # seed of all draws in validation and in the test


ALL_ONE = Seeds(initial_weights=1, data_order=1, dropout=1, decoding=1)


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


ENDS = (signal.SIGTERM, signal.SIGINT)


class Interruption(SIGTERMException):
    """Ctrl-C, answered between two updates or two batches."""


class EndOnSignals(UpdateCallback):
    """End a training on SIGTERM and Ctrl-C between two updates or two batches of a validation.

    All ranks end with the rank that has the signal; Lightning's own handler would speak to the
    others in the middle of an exchange. A second Ctrl-C ends at once. A test ends on SIGTERM
    between two batches. List this callback after ``ResumeCheckpoint``.
    """

    def __init__(self) -> None:
        self._received: set[signal.Signals] = set()

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let all ranks know of a signal."""
        for number in ENDS:
            flags_of(trainer).add(number.name, partial(self._received.__contains__, number))

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Note signals from now on; Lightning restores the old handlers at the end."""
        self._note(signal.SIGTERM)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._note(signal.SIGINT)

    def on_predict_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Note SIGTERM from now on."""
        self._note(signal.SIGTERM)

    def on_update_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """End if any rank has a signal."""
        flags = flags_of(trainer)
        if flags[signal.SIGTERM.name]:
            raise SIGTERMException
        if flags[signal.SIGINT.name]:
            raise Interruption

    on_validation_batch_start: Any = on_update_start

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """End after the last update too."""
        flags_of(trainer).exchange(trainer)
        self.on_update_start(trainer, pl_module)

    def on_predict_batch_end(self, *_: Any) -> None:
        """End a test, in which ranks exchange nothing."""
        if self._received:
            raise SIGTERMException

    def _note(self, number: signal.Signals) -> None:
        if current_thread() is main_thread():
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._received.add(signal.Signals(number))
        if number == signal.SIGINT:
            log.info("training ends after this update; Ctrl-C again ends it at once")
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise ``TerminatedError`` on SIGTERM and ``KeyboardInterrupt`` on Ctrl-C."""
    try:
        yield
    except Interruption:
        raise KeyboardInterrupt from None
    except SIGTERMException:
        raise TerminatedError from None
    except SystemExit:  # how Lightning answers Ctrl-C
        raise KeyboardInterrupt from None
