"""The ranks of one training, started by ``torchrun`` as a process of its own.

Lightning's launcher repeats the command line for each rank; under a multirun that is the whole
multirun again. Here every rank calls one function with the job's own arguments.
"""

import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar, cast

import torch
from omegaconf import DictConfig

from datamodules.errors import TerminatedError
from datamodules.sequences import cores
from lightning_modules.kernels.threads import default_threads
from lightning_modules.ranks.devices import is_rank_zero, ranks_to_start

log = logging.getLogger(__name__)
Task = TypeVar("Task", bound=Callable[..., Any])

CALL, VALUE, ERROR, MESSAGES = "call", "value", "error", "messages"
"""Files in a folder of the job and its ranks: three pickles, and what torchrun prints.

The error file of torchrun has text alone; the class of an error says whether it is a mistake.
"""
DEATH = re.compile(r"failed \(exitcode: (?P<status>-?\d+)\) local_rank: (?P<rank>\d+)")
"""What torchrun prints about the first rank that died."""


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
    processors = cores()
    if count > processors and not torch.cuda.is_available():
        shared = "%d ranks share %d cores: trainer.devices=%d is faster"
        log.warning(shared, count, processors, processors)
    program = ["torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "--module"]
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONSAFEPATH": "1",
        "OMP_NUM_THREADS": str(max(1, default_threads() // count)),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "60",  # seconds for ranks to save a checkpoint
    }
    with TemporaryDirectory(prefix="ranks-") as name, Path(name, MESSAGES).open("w") as messages:
        folder = Path(name)
        call = pickle.dumps((function, arguments))  # read after the log is set up
        log_as = logging.getLogger().level, _log_targets()
        (folder / CALL).write_bytes(pickle.dumps((*log_as, call)))
        with (
            subprocess.Popen(
                [sys.executable, "-m", *program, "lightning_modules.ranks.launch", name],
                env=os.environ | environment,
                stdin=subprocess.PIPE,  # closed when this process ends
                stderr=messages,
                start_new_session=True,  # Ctrl-C comes from this process alone
            ) as process,
            _passing_signals_on(process) as received,
        ):
            process.wait()
        return _outcome(folder, process.returncode, received)


@contextmanager
def _passing_signals_on(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Send SIGTERM and SIGINT of this process to another; yield the numbers received."""
    received: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        received.append(number)
        process.send_signal(number)

    numbers = (signal.SIGTERM, signal.SIGINT) if current_thread() is main_thread() else ()
    handlers = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _outcome(folder: Path, status: int, received: list[int]) -> Any:
    """Return the value of rank zero. Raises the first error, or that of a signal."""
    messages = (folder / MESSAGES).read_text(errors="replace")
    if status == 0:
        sys.stderr.write(messages)  # warnings of the ranks
        return pickle.loads((folder / VALUE).read_bytes())
    if received:
        raise (KeyboardInterrupt if signal.SIGINT in received else TerminatedError) from None
    if (folder / ERROR).is_file():
        error: BaseException = pickle.loads((folder / ERROR).read_bytes())
    elif died := DEATH.search(messages):
        error = RuntimeError(f"rank {died['rank']} died, exit status {died['status']}")
    else:
        error = RuntimeError("torchrun failed")
    error.add_note(messages)  # of NCCL, for example
    raise error


def _log_targets() -> list[tuple[str | None, logging.Formatter | None]]:
    """Return the files of the log, None for the console, with their formatters."""
    console = (sys.stdout, sys.stderr)
    return [
        (getattr(handler, "baseFilename", None), handler.formatter)
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.FileHandler) or getattr(handler, "stream", None) in console
    ]


def be_rank(name: str) -> None:
    """Make the call that waits in a folder, as one rank, and leave the value or the error there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Thread(target=_end_with_job, daemon=True).start()
    folder, rank = Path(name), os.environ["RANK"]
    level, targets, call = pickle.loads((folder / CALL).read_bytes())
    _log_as(level if is_rank_zero() else logging.ERROR, targets)
    try:
        function, arguments = pickle.loads(call)
        value = function(*arguments)
        if is_rank_zero():
            (folder / VALUE).write_bytes(pickle.dumps(value))
    except BaseException as error:
        with suppress(FileExistsError), (folder / ERROR).open("xb") as file:  # the first error
            file.write(pickle.dumps(_sendable(error, rank)))
        logging.shutdown()
        os._exit(1)  # other threads, of NCCL for example, may never end


def _end_with_job() -> None:
    """End with the job, whose end of the pipe closes; ranks that wait would wait half an hour."""
    os.read(sys.stdin.fileno(), 1)
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


def _sendable(error: BaseException, rank: str) -> BaseException:
    """Return the error with its traceback as a note; a ``RuntimeError`` where pickle refuses it."""
    where = "".join(traceback.format_exception(error))
    try:
        copy: BaseException = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"\nrank {rank}:\n{where}")
    return copy


if __name__ == "__main__":
    be_rank(sys.argv[1])
