"""How slow this machine is at the moment, for tests that bound seconds."""

import time
from statistics import median

LOOP_SECONDS = 0.05  # of `_loop` on the machine on which the bounds were set, about


def slowness() -> float:
    """Return by what a bound of seconds is multiplied here: at least 1."""
    return max(1.0, median(_loop() for _ in range(5)) / LOOP_SECONDS)


def _loop() -> float:
    """Return the processor's seconds for work of plain Python that never changes."""
    started, total, kept = time.process_time(), 0, dict[int, int]()
    for number in range(1_000_000):
        total += number % 7
        kept[number % 1000] = total
    return time.process_time() - started
