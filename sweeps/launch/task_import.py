"""The import of a task, which is most of the start of a command."""

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf

from lightning_modules.tracking.early_import import import_wandb_early

Task = Callable[[DictConfig], Any]


def import_task(path: str, config: DictConfig) -> Task:
    """Import the task with the dotted ``path``, and the logger of ``config`` before the task."""
    return _imported(path, OmegaConf.select(config, "logger._target_"))


@cache  # one worker of joblib runs many jobs
def _imported(path: str, logger: str | None) -> Task:
    """Import without Python's search for garbage, which took 0.8 s: modules are never garbage."""
    gc.disable()
    try:
        with ctrl_c_ends_at_once():
            import_wandb_early(logger)
            return get_method(path)
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def ctrl_c_ends_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process without an exception, during imports.

    NumPy, torch and SciPy catch ``KeyboardInterrupt`` during their imports, and the half imported
    packages then raise other errors.
    """
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not raises or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
