"""``python run.py`` in a process of its own that need not import torch, Lightning and W&B again.

A server process imports them once for each worker of pytest; every command is a fork of the server.
"""

import atexit
import multiprocessing.process
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from wandb.sdk.data_types._private import MEDIA_TMP

from run import program
from sweeps.launch.errors import run_main

PRELOADED = [
    *("tests.helpers.forked", "wandb", "lightning_modules.tasks.train", "sweeps.studies.worker"),
    *("sweeps.tasks.compare", "sweeps.tasks.evaluate", "sweeps.report.wandb_comparison"),
]
"""Modules that the server imports, with all that these import."""
STREAMS = ("stdin", "stdout", "stderr")


def run_forked(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    stdin: str,
    seconds: float,
) -> subprocess.CompletedProcess[str]:
    """Run the program in ``folder``, and return its status and output.

    Raises ``subprocess.TimeoutExpired`` after ``seconds``.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with TemporaryDirectory() as place:
        files = [Path(place) / name for name in STREAMS]
        files[0].write_text(stdin, encoding="utf-8")
        process = context.Process(
            target=_be_program, args=(list(arguments), folder, dict(environment), files)
        )
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["run.py", *arguments], seconds)
        output, errors = (file.read_text(encoding="utf-8") for file in files[1:])
    assert process.exitcode is not None
    return subprocess.CompletedProcess(["run.py", *arguments], process.exitcode, output, errors)


def _be_program(
    arguments: list[str], folder: Path, environment: dict[str, str], files: list[Path]
) -> None:
    """Turn this fork of the server into ``python run.py``."""
    for number, (file, flags) in enumerate(
        zip(files, (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2), strict=True)
    ):
        os.dup2(os.open(file, flags), number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, buffering=1, encoding="utf-8", closefd=False)
        for number, mode in enumerate("rww")
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    MEDIA_TMP.name = mkdtemp("wandb-media")  # W&B removes the folder at the end of each fork
    multiprocessing.process._parent_process = None  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["run.py", *arguments]
    status = _status()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _status() -> int:
    try:
        run_main(program)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
