"""One rank of a training, in a process that ``ranks`` has started.

Nothing heavy is imported here: a rank's environment and log must stand before Lightning looks.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import setup_globals

from lightning_modules.ranks.world import is_rank_zero


class Job(NamedTuple):
    """What every rank does."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    hydra: Any
    """Hydra's own configuration, for interpolations into it."""


class Outcome(NamedTuple):
    """What a rank has come to, the last that it tells."""

    value: Any = None
    error: BaseException | None = None


class _Told(QueueHandler):
    """Send log records to the process that started this one."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self.pipe = pipe

    def enqueue(self, record: logging.LogRecord) -> None:
        self.pipe.send(record)

    def tell(self, outcome: Outcome) -> None:
        """Send the outcome; another thread may be logging."""
        self.acquire()
        self.pipe.send(outcome)
        self.release()


def be_rank(job: bytes, level: int, pipe: Connection) -> None:
    """Do the job, log to the pipe, and tell in the end what came of it."""
    os.setpgrp()  # Ctrl-C of a terminal is for the process that started this one, and passed on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    told = _Told(pipe)
    logging.getLogger().addHandler(told)
    logging.getLogger().setLevel(level)
    if not is_rank_zero():
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
    try:
        outcome = Outcome(_done(job))
        pickle.dumps(outcome)
    except BaseException as error:
        outcome = Outcome(error=_sendable(error))
    told.tell(outcome)


def _end_with_parent() -> None:
    """However it ends; a rank in the middle of a collective would wait for hours."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _done(job: bytes) -> Any:
    setup_globals()  # Hydra's resolvers
    function, arguments, hydra = pickle.loads(job)
    HydraConfig.instance().cfg = hydra
    value = function(*arguments)
    # On an error it stays until the process ends: other ranks notice, and only after we have told.
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()
    return value


def _sendable(error: BaseException) -> BaseException:
    """The error with its traceback as a note; where it cannot be sent, another that tells it."""
    where = "".join(traceback.format_exception(error))
    try:
        copy: BaseException = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"\nrank {os.environ['RANK']} tells:\n{where}")
    return copy
