"""The ranks of one training: processes of this machine that one job starts, waits for and ends.

Lightning's own launcher repeats the command line for each rank; under a multirun that is the whole
multirun again. Here every rank calls one function with the job's own configuration.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn, TypeVar, cast

import torch
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import env_override
from omegaconf import DictConfig
from torch.distributed import TCPStore

from lightning_modules.ranks.devices import ranks_to_start
from lightning_modules.ranks.process import Job, Outcome, be_rank

Task = TypeVar("Task", bound=Callable[..., Any])

STARTED_HERE = "attention-bench"
"""Where torchrun has the id of its run."""
SECONDS_TO_END = {signal.SIGINT: 10.0, signal.SIGTERM: 60.0}
"""What ranks get to end by themselves: a scheduler's signal leaves time to save a checkpoint."""
SECONDS_TO_EXIT = 5.0
"""What they get once all have told their outcome."""


def on_ranks(task: Task) -> Task:
    """Let a task, a function of a module, run on as many ranks as its ``config.trainer`` asks for.

    It returns the value of rank zero. Where one process is enough it is called as it is.
    """

    @wraps(task)
    def run(config: DictConfig, *more: Any) -> Any:
        started = os.environ.get("TORCHELASTIC_RUN_ID") == STARTED_HERE
        count = 1 if started else ranks_to_start(config.trainer)
        return task(config, *more) if count == 1 else run_on_ranks(count, run, config, *more)

    return cast(Task, run)


@dataclass
class Rank:
    """A process, and the pipe on which it tells log records and then its outcome."""

    number: int
    process: BaseProcess
    pipe: Connection
    outcome: Outcome | None = None

    def hear(self) -> bool:
        """Take what it tells next; return whether there will be more."""
        try:
            told = self.pipe.recv()
        except EOFError:
            self.process.join()
            died = RuntimeError(f"rank {self.number} died, exit status {self.process.exitcode}")
            self.outcome = self.outcome or Outcome(error=died)
        else:
            if isinstance(told, Outcome):
                self.outcome = told
            else:
                logging.getLogger(told.name).handle(told)
        return self.outcome is None


def run_on_ranks(count: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``function`` in ``count`` new processes at once, and return the value of rank zero.

    Each finds the environment that torchrun makes. What they log is logged here: all of rank zero,
    errors of the others. An error of any ends all and is raised here, with its traceback as a note;
    so do Ctrl-C and SIGTERM. If this process is killed, they end too.
    """
    # It has a port from the start, so that jobs side by side cannot choose the same.
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    job = pickle.dumps(Job(function, arguments, HydraConfig.instance().cfg))
    ranks: list[Rank] = []
    with _sigterm_raises():
        try:
            for number in range(count):
                with env_override(_environment(number, count, store.port)):
                    ranks.append(_start(number, job))
            return _outcome(ranks)
        except BaseException as error:
            stopped = isinstance(error, SystemExit)
            _end(ranks, signal.SIGTERM if stopped else signal.SIGINT)
            raise
        finally:
            for rank in ranks:
                rank.process.join(SECONDS_TO_EXIT)
                rank.process.kill()
                rank.process.join()


def _environment(rank: int, count: int, port: int) -> dict[str, str]:
    """What torchrun tells a process."""
    threads = max(1, torch.get_num_threads() // count)
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": STARTED_HERE,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the one at this port
        "OMP_NUM_THREADS": str(threads),
    }


def _start(number: int, job: bytes) -> Rank:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    level = logging.getLogger().level
    process = context.Process(target=be_rank, args=(job, level, theirs), name=f"rank {number}")
    process.start()
    theirs.close()  # only the rank has it now, so that we notice its end
    return Rank(number, process, ours)


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Turn SIGTERM into ``SystemExit``. Only the main thread can; others leave it as it is."""

    def stop(number: int, frame: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        raise SystemExit(128 + number)

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


def _end(ranks: Sequence[Rank], number: signal.Signals) -> None:
    """Send a signal to the ranks that still work, and wait for them, though not for ever."""
    working = [rank for rank in ranks if rank.outcome is None]
    for rank in working:
        assert rank.process.pid is not None
        os.kill(rank.process.pid, number)  # our child, not waited for: its id is still its own
    for _ in _ended(working, SECONDS_TO_END[number]):
        pass


def _ended(ranks: Sequence[Rank], seconds: float = float("inf")) -> Iterator[Rank]:
    """Hear ranks and yield each when it has told its outcome, until time is up."""
    working = {rank.pipe: rank for rank in ranks}
    deadline = time.monotonic() + seconds
    while working:
        left = deadline - time.monotonic()
        ready = wait(list(working), None if left == float("inf") else max(0.0, left))
        if not ready:
            return
        for pipe in ready:
            rank = working[cast(Connection, pipe)]
            if not rank.hear():
                del working[rank.pipe]
                yield rank
