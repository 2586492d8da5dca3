"""One rank of a training, in a process that ``launcher`` has started.

Nothing heavy is imported here: a rank's environment and log must stand before Lightning looks.
"""

import logging
import os
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import setup_globals
from omegaconf import OmegaConf

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
        self._send(record)

    def tell(self, outcome: Outcome) -> None:
        """Send the outcome; another thread may be logging."""
        self.acquire()
        self._send(outcome)
        self.release()

    def _send(self, what: Any) -> None:
        """By value; a pipe by itself sends of tensors only where they lie in this process."""
        self.pipe.send_bytes(pickle.dumps(what))


def be_rank(file: int) -> None:
    """Get a job from the pipe, do it, log to the pipe, and tell in the end what came of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_inheritable(file, False)  # our end is the end of the pipe
    pipe = Connection(file)
    level, job = pipe.recv()
    Thread(target=_end_with, args=(pipe,), daemon=True).start()
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


def _end_with(pipe: Connection) -> None:
    """End when the other side does, however it does; a collective would wait for half an hour."""
    with suppress(EOFError, OSError):
        pipe.recv()
    os._exit(1)


def _done(job: bytes) -> Any:
    setup_globals()  # Hydra's resolvers
    function, arguments, hydra = pickle.loads(job)
    HydraConfig.instance().cfg = OmegaConf.create(hydra) if hydra else None
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
