"""Servers and disks that hang: a training goes on, a study is refused in bounded time."""

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.drill.commands import SETTINGS, Part, command, shared, training
from tests.drill.kills import run_result

PATIENCE = 150.0
"""Longest time in seconds until a command has given up on a server."""
SLOW_DISK = """
import os, time
def _slowly(call):
    def slow(*arguments, **options):
        time.sleep(0.2)
        return call(*arguments, **options)
    return slow
os.fsync, os.replace, os.rename = map(_slowly, (os.fsync, os.replace, os.rename))
"""
"""``sitecustomize.py`` of a process whose disk is slow."""


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never answer; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def accept() -> None:
            while True:
                try:
                    kept.append(server.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


def drill(space: Path, count: int, draw: random.Random) -> Part:
    """Let ``count`` of W&B, the disk and PostgreSQL hang."""
    wrong = [line for hang in (_wandb, _disk, _postgresql)[:count] if (line := hang(space))]
    return Part(count, wrong)


def _expected(space: Path) -> dict[str, str]:
    """Return what a training without hindrance ends with."""
    whole = space / "whole"
    assert command(training(whole, space), space / "whole.out").status == 0
    return run_result(whole)


def _wandb(space: Path) -> str | None:
    expected, folder = _expected(space), space / "tracked"
    arguments = training(folder, space)
    arguments.remove("logger=none")
    with silent_server() as port:
        online = {"WANDB_BASE_URL": f"http://127.0.0.1:{port}", "WANDB_API_KEY": "0" * 40}
        ended = command(arguments, space / "tracked.out", **online)
    same = ended.status == 0 and run_result(folder) == expected
    return None if same and ended.seconds < PATIENCE else f"W&B, {ended.seconds:.0f} s: {ended}"


def _disk(space: Path) -> str | None:
    expected, folder = _expected(space), space / "slow-run"
    (space / "slow").mkdir()
    (space / "slow" / "sitecustomize.py").write_text(SLOW_DISK)
    ended = command(training(folder, space), space / "slow.out", PYTHONPATH=str(space / "slow"))
    same = ended.status == 0 and run_result(folder) == expected
    return None if same else f"slow disk: {ended}"


def _postgresql(space: Path) -> str | None:
    with silent_server() as port:
        address = f"sweep.storage=postgresql://user@127.0.0.1:{port}/none"
        study = ["sweep=recurrent", address, *SETTINGS, *shared(space), "logger=none"]
        ended = command(study, space / "study.out")
    refused = ended.refusal is not None and ended.seconds < PATIENCE
    return None if refused else f"PostgreSQL, {ended.seconds:.0f} s: {ended}"
