"""A command with the seconds it takes and the most memory its processes hold."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[3]
PAUSE = 0.2
"""Seconds between two readings of the memory."""


@dataclass(frozen=True)
class Watched:
    """What a command used."""

    seconds: float
    processor_seconds: float
    resident_mib: float
    """Most memory of all processes at once; pages that processes share count once."""
    own_mib: float
    """Most memory without pages of mapped files, which the kernel drops when memory is short."""
    output: str


def watch(command: list[str], root: Path = ROOT, threads: int = 1) -> Watched:
    """Run a command in ``root``; raise ``RuntimeError`` with its output if it fails."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    started, before = time.perf_counter(), os.times()
    with subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        resident = own = 0.0
        while process.poll() is None:
            now = _memory(process.pid)
            resident, own = max(resident, now[0]), max(own, now[1])
            time.sleep(PAUSE)
        assert process.stdout is not None
        output = process.stdout.read()
    seconds, after = time.perf_counter() - started, os.times()
    if process.returncode:
        raise RuntimeError(output)
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return Watched(seconds, used, resident, own, output)


def _memory(process: int) -> tuple[float, float]:
    """Return resident and own memory of a process and its children, in MiB."""
    resident = own = 0
    try:
        parent = psutil.Process(process)
        processes = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0, 0.0
    for each in processes:
        try:
            rows = Path(f"/proc/{each.pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:  # the process has ended
            continue
        sizes = {name: int(size.split()[0]) for name, _, size in (r.partition(":") for r in rows)}
        resident += sizes["Pss"]
        own += sizes["Pss_Anon"]
    return resident / 1024, own / 1024
