"""The ranks of one training: processes of this machine that one job starts, waits for and ends.

Lightning's own launcher repeats the command line for each rank; under a multirun that is the whole
multirun again. Here every rank calls one function with the job's own arguments.

``torch.distributed.launcher`` (torch 2.13) was tried in place of this module. Three things failed:
the error of a rank arrives as text in a ``ChildFailedError``, so that the one line of a
``UserError`` is lost; log records of ranks reach no handler of the job; and a launch inside a
worker of joblib, where jobs train side by side, ends with a ``BrokenProcessPool``.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, TypeVar, cast

import torch
from omegaconf import DictConfig
from torch.distributed import TCPStore

from datamodules.errors import TerminatedError
from lightning_modules.ranks.devices import ranks_to_start
from lightning_modules.ranks.process import Call, Outcome

log = logging.getLogger(__name__)
Task = TypeVar("Task", bound=Callable[..., Any])

RUN_ID = "attention-bench"
"""Value of ``TORCHELASTIC_RUN_ID`` in ranks that this module has started."""
SECONDS_TO_SAVE = 60.0
"""Time for ranks to save a checkpoint on Ctrl-C and SIGTERM; Ctrl-C again ends them at once."""
SECONDS_TO_END = 10.0
"""Time for ranks to end once another rank has failed, or once all have sent their outcome."""


def on_ranks(task: Task) -> Task:
    """Let a function of a module run on as many ranks as ``config.trainer`` asks for.

    ``config`` is the first argument, resolved; all arguments can be pickled. The function then
    returns the value of rank zero. For one rank it is called in this process.
    """

    @wraps(task)
    def run(config: DictConfig, *more: Any) -> Any:
        is_rank = os.environ.get("TORCHELASTIC_RUN_ID") == RUN_ID
        count = 1 if is_rank else ranks_to_start(config.trainer)
        return task(config, *more) if count == 1 else run_on_ranks(count, run, config, *more)

    return cast(Task, run)


@dataclass
class Rank:
    """A process, and the pipe on which it sends log records and then its outcome."""

    number: int
    process: subprocess.Popen[bytes]
    pipe: Connection
    outcome: Outcome | None = None

    def receive(self) -> bool:
        """Take the next message of the rank; return whether more will come."""
        try:
            message = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, ConnectionResetError):
            died = RuntimeError(f"rank {self.number} died, exit status {self.process.wait()}")
            self.outcome = self.outcome or Outcome(error=died)
        else:
            if isinstance(message, Outcome):
                self.outcome = message
            else:
                logging.getLogger(message.name).handle(message)
        return self.outcome is None


def run_on_ranks(count: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``function`` in ``count`` new processes at once, and return the value of rank zero.

    Each process has the environment that torchrun makes. Its log records are handled here: all of
    rank zero, errors of the other ranks. If a rank fails, all ranks end and its error is raised
    here, with its traceback as a note. Ctrl-C and SIGTERM end all ranks too. If this process is
    killed, the ranks end too.
    """
    cores = len(os.sched_getaffinity(0))
    if count > cores and not torch.cuda.is_available():
        log.warning("%d ranks share %d cores: trainer.devices=%d is faster", count, cores, cores)
    # The store has a port from the start, so that jobs side by side cannot choose the same.
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    call = pickle.dumps(Call(function, arguments))
    ranks: list[Rank] = []
    with _sigterm_raises():
        try:
            for number in range(count):
                ranks.append(_start(number, _environment(number, count, store.port)))
                ranks[-1].pipe.send((logging.getLogger().level, call))
            value = _outcome(ranks)
            for rank in ranks:
                with suppress(subprocess.TimeoutExpired):
                    rank.process.wait(SECONDS_TO_END)
            return value
        except Exception:
            _end(ranks, signal.SIGINT, SECONDS_TO_END)
            raise
        except BaseException as error:
            stopped = isinstance(error, TerminatedError)
            _end(ranks, signal.SIGTERM if stopped else signal.SIGINT, SECONDS_TO_SAVE)
            raise
        finally:
            for rank in ranks:
                rank.process.kill()
                rank.process.wait()
                rank.pipe.close()


def _environment(rank: int, count: int, port: int) -> dict[str, str]:
    """Return the variables that torchrun sets for a process."""
    threads = max(1, torch.get_num_threads() // count)
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": RUN_ID,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the store at this port
        "OMP_NUM_THREADS": str(threads),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }


def _start(number: int, environment: dict[str, str]) -> Rank:
    """Start an interpreter; in a worker of joblib, ``multiprocessing`` would start more workers.

    The rank has a process group of its own: this process receives Ctrl-C of a terminal and passes
    it on.
    """
    ours, theirs = multiprocessing.Pipe()
    with theirs:  # then only the rank holds this end, and each process notices the other's death
        code = f"from lightning_modules.ranks.process import be_rank; be_rank({theirs.fileno()})"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, f"rank={number}"],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            process_group=0,
        )
    return Rank(number, process, ours)


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Turn SIGTERM into ``TerminatedError`` in the main thread; do nothing in other threads."""

    def stop(number: int, frame: object) -> NoReturn:
        signal.signal(
            signal.SIGTERM, signal.SIG_IGN
        )  # a second SIGTERM must not interrupt the saving
        raise TerminatedError

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _outcome(ranks: Sequence[Rank]) -> Any:
    """Wait for all ranks and return the value of rank zero. Raises the first error of any."""
    for rank in _ended(ranks):
        if rank.outcome is not None and rank.outcome.error is not None:
            raise rank.outcome.error
    assert ranks[0].outcome is not None
    return ranks[0].outcome.value


def _end(ranks: Sequence[Rank], number: signal.Signals, seconds: float) -> None:
    """Send a signal to the ranks that still work, and wait for them at most ``seconds``."""
    working = [rank for rank in ranks if rank.outcome is None]
    for rank in working:
        rank.process.send_signal(number)
    for _ in _ended(working, seconds):
        pass


def _ended(ranks: Sequence[Rank], seconds: float = float("inf")) -> Iterator[Rank]:
    """Receive from ranks; yield each with its outcome, until ``seconds`` are over."""
    working = {rank.pipe: rank for rank in ranks}
    deadline = time.monotonic() + seconds
    while working:
        left = deadline - time.monotonic()
        ready = wait(list(working), None if left == float("inf") else max(0.0, left))
        if not ready:
            return
        for pipe in ready:
            rank = working[cast(Connection, pipe)]
            if not rank.receive():
                del working[rank.pipe]
                yield rank
