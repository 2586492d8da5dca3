"""The ranks of one training, started by torch's elastic launcher, the library behind ``torchrun``.

Lightning's launcher repeats the command line for each rank; under a multirun that is the whole
multirun again. Here every rank calls one function with the job's own arguments.
"""

import logging
import os
import pickle
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar, cast

import torch
from omegaconf import DictConfig
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher import LaunchConfig, elastic_launch

from datamodules.errors import TerminatedError
from lightning_modules.ranks.devices import ranks_to_start
from lightning_modules.ranks.environment import is_rank_zero

log = logging.getLogger(__name__)
Task = TypeVar("Task", bound=Callable[..., Any])

CALL, VALUE, ERROR = "call", "value", "error"
"""Names of the pickles that the job and its ranks exchange in a folder of their own."""
SECONDS_TO_SAVE = "60"
"""Time for ranks to save a checkpoint on Ctrl-C and SIGTERM, and to end once a rank has failed."""
POLL_SECONDS = 0.5
EVENTS = "torchelastic-events-null"
"""Logger of the events of torch's launcher."""


def on_ranks(task: Task) -> Task:
    """Let a function of a module run on as many ranks as ``config.trainer`` asks for.

    ``config`` is the first argument, resolved; all arguments can be pickled. The function then
    returns the value of rank zero. For one rank it is called in this process.
    """

    @wraps(task)
    def run(config: DictConfig, *more: Any) -> Any:
        count = ranks_to_start(config.trainer)
        return task(config, *more) if count == 1 else run_on_ranks(count, run, config, *more)

    return cast(Task, run)


def run_on_ranks(count: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``function`` in ``count`` new processes at once, and return the value of rank zero.

    Rank zero logs as this process does, the others log errors only. If a rank fails, all ranks end,
    and the first error is raised here, with its traceback as a note. Ctrl-C and SIGTERM are passed
    on. If this process is killed, the ranks end too.
    """
    cores = len(os.sched_getaffinity(0))
    if count > cores and not torch.cuda.is_available():
        log.warning("%d ranks share %d cores: trainer.devices=%d is faster", count, cores, cores)
    with TemporaryDirectory(prefix="ranks-") as name, _own_signals_and_log():
        folder = Path(name)
        call = pickle.dumps((function, arguments))  # read after the log is set up
        _write(folder / CALL, (os.getpid(), logging.getLogger().level, _log_targets(), call))
        threads = max(1, torch.get_num_threads() // count)
        program = (
            f"import os, sys; sys.path[:] = {sys.path!r}; "
            f"os.environ['OMP_NUM_THREADS'] = '{threads}'; "
            f"from lightning_modules.ranks.launch import be_rank; be_rank({name!r})"
        )
        torchrun = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=count,
            run_id=folder.name,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",  # a free port, whatever runs beside this job
            max_restarts=0,
        )
        try:
            elastic_launch(torchrun, sys.executable)("-P", "-c", program)
        except ChildFailedError as failed:
            raise _first_error(folder, failed) from None
        except SignalException as stopped:
            interrupted = stopped.sigval == signal.SIGINT
            raise (KeyboardInterrupt if interrupted else TerminatedError) from None
        return pickle.loads((folder / VALUE).read_bytes())


@contextmanager
def _own_signals_and_log() -> Iterator[None]:
    """Restore the handlers that the launcher replaces, and keep its messages out of the log."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    handlers = {number: signal.getsignal(number) for number in numbers}
    for logger in (EVENTS, *logging.root.manager.loggerDict):  # each has a level of its own
        if logger.startswith(("torch.distributed.elastic", EVENTS)):
            logging.getLogger(logger).disabled = True
    os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = SECONDS_TO_SAVE
    try:
        yield
    finally:
        if current_thread() is main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _log_targets() -> list[tuple[str | None, logging.Formatter | None]]:
    """Return the files of the log, None for the console, with their formatters."""
    console = (sys.stdout, sys.stderr)
    return [
        (getattr(handler, "baseFilename", None), handler.formatter)
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.FileHandler) or getattr(handler, "stream", None) in console
    ]


def _first_error(folder: Path, failed: ChildFailedError) -> BaseException:
    """Return the error that a rank left first; that of a rank that died without a word, else."""
    left = sorted(folder.glob(f"{ERROR}*"), key=lambda file: file.stat().st_mtime_ns)
    if left:
        error: BaseException = pickle.loads(left[0].read_bytes())
        return error
    rank, failure = failed.get_first_failure()
    return RuntimeError(f"rank {rank} died, exit status {failure.exitcode}")


def be_rank(name: str) -> None:
    """Make the call that waits in a folder, as one rank, and leave the value or the error there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, rank = Path(name), os.environ["RANK"]
    job, level, targets, call = pickle.loads((folder / CALL).read_bytes())
    Thread(target=_end_with, args=(job,), daemon=True).start()
    _log_as(level if is_rank_zero() else logging.ERROR, targets)
    try:
        function, arguments = pickle.loads(call)
        value = function(*arguments)
        if is_rank_zero():
            _write(folder / VALUE, value)
    except BaseException as error:
        _write(folder / f"{ERROR}{rank}", _sendable(error, rank))
        logging.shutdown()
        os._exit(1)  # other threads, of NCCL for example, may never end


def _end_with(job: int) -> None:
    """End with the job; a rank that waits for others would wait for half an hour."""
    while os.getppid() == job:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def _log_as(level: int, targets: list[tuple[str | None, logging.Formatter | None]]) -> None:
    root = logging.getLogger()
    root.setLevel(level)
    for file, formatter in targets:
        handler = logging.StreamHandler(sys.stdout) if file is None else logging.FileHandler(file)
        handler.setFormatter(formatter)
        root.addHandler(handler)
    if not is_rank_zero():
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")


def _write(file: Path, content: Any) -> None:
    file.write_bytes(pickle.dumps(content))


def _sendable(error: BaseException, rank: str) -> BaseException:
    """Return the error with its traceback as a note; a ``RuntimeError`` where pickle refuses it."""
    where = "".join(traceback.format_exception(error))
    try:
        copy: BaseException = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"\nrank {rank}:\n{where}")
    return copy
