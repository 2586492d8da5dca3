"""A clock that is set back: an interrupted training goes on and ends the same."""

import random
import signal
import time
from pathlib import Path

from tests.drill.commands import Part, command, start, training
from tests.drill.kills import run_result

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
"""The library of Debian's package ``libfaketime``."""
SHIFTS = ("-1d", "-10y", "+2d", "-1h")


def drill(space: Path, count: int, draw: random.Random) -> Part:
    """Kill a training and go on with another clock."""
    if not LIBRARIES:
        return Part(0, [], "libfaketime is not installed")
    whole = space / "whole"
    assert command(training(whole, space), space / "whole.out").status == 0
    expected, wrong = run_result(whole), []
    for number in range(count):
        shift = SHIFTS[number % len(SHIFTS)]
        folder = space / f"run-{number}"
        out = space / f"run-{number}.out"
        process = start(training(folder, space), out)
        while process.poll() is None and not (folder / "checkpoints" / "last.ckpt").is_file():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        faked = {"LD_PRELOAD": str(LIBRARIES[0]), "FAKETIME": shift}
        ended = command(training(folder, space), out, **faked)
        if ended.status or run_result(folder) != expected:
            wrong.append(f"clock {shift}: {ended}")
    return Part(count, wrong)
