"""One rank of a training, in a process that ``launcher`` has started.

This module imports nothing heavy: Lightning reads the environment and the log when it is imported.
"""

import logging
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, NamedTuple, NoReturn

from lightning_modules.ranks.environment import is_rank_zero


class Call(NamedTuple):
    """The call that every rank makes."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Outcome(NamedTuple):
    """The end of a rank: its last message."""

    value: Any = None
    error: BaseException | None = None


class _PipeHandler(QueueHandler):
    """Send log records to the process that started this one."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self.pipe = pipe

    def enqueue(self, record: logging.LogRecord) -> None:
        self._send(record)

    def send_outcome(self, outcome: Outcome) -> None:
        """Send the outcome; another thread may be logging."""
        self.acquire()
        self._send(outcome)
        self.release()

    def _send(self, message: Any) -> None:
        """Send by value; ``pipe.send`` would send tensors as addresses in this process."""
        self.pipe.send_bytes(pickle.dumps(message))


def be_rank(file: int) -> None:
    """Receive a call from the pipe, make it, log to the pipe, and send the outcome."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_inheritable(file, False)  # so that the pipe ends with this process
    pipe = Connection(file)
    level, call = pipe.recv()
    Thread(target=_end_with, args=(pipe,), daemon=True).start()
    handler = _PipeHandler(pipe)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(level)
    if not is_rank_zero():
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
    try:
        outcome = Outcome(_made(call))
        pickle.dumps(outcome)
    except BaseException as error:
        outcome = Outcome(error=_sendable(error))
    handler.send_outcome(outcome)


def end_rank(error: Exception) -> NoReturn:
    """End this process at once with an error, from any thread; the main thread may be stuck."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _PipeHandler):
            handler.send_outcome(Outcome(error=error))
            break
    else:  # torchrun or SLURM has started this rank
        print(f"error: {error}", file=sys.stderr, flush=True)
    os._exit(2)


def _end_with(pipe: Connection) -> None:
    """End with the process on the other side; a collective would wait for half an hour."""
    with suppress(EOFError, OSError):
        pipe.recv()
    os._exit(1)


def _made(call: bytes) -> Any:
    function, arguments = pickle.loads(call)
    value = function(*arguments)
    # After an error the group stays until the process ends: the outcome must arrive first.
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()
    return value


def _sendable(error: BaseException) -> BaseException:
    """Return the error with its traceback as a note; a ``RuntimeError`` where pickle refuses it."""
    where = "".join(traceback.format_exception(error))
    try:
        copy: BaseException = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"\nrank {os.environ['RANK']}:\n{where}")
    return copy
