"""Work on the parts of a corpus in several processes, with a bounded number of parts in memory."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context
from typing import TypeVar

from datamodules.errors import UserError

Part = TypeVar("Part")
Result = TypeVar("Result")

WAITING = 2
"""Parts for each worker that wait for it or are worked on."""


def for_each(
    work: Callable[[Part], Result], parts: Iterable[Part], workers: int
) -> Iterator[Result]:
    """Yield ``work(part)`` for each part, in order.

    A single part is worked on in this process, since processes take a second to start. The first
    error of a worker ends the loop. Raises ``UserError`` if a worker is killed.
    """
    remaining = iter(parts)
    first = list(islice(remaining, 2))
    if len(first) < 2 or workers < 2:
        yield from map(work, chain(first, remaining))
        return
    try:
        yield from _in_processes(work, chain(first, remaining), workers)
    except BrokenProcessPool as error:
        raise UserError(
            "a process that prepares the corpus was killed, perhaps for lack of memory: the same "
            "command goes on where the preparation was"
        ) from error


def _in_processes(
    work: Callable[[Part], Result], parts: Iterable[Part], workers: int
) -> Iterator[Result]:
    context = get_context("forkserver")  # a process with threads must not fork
    with ProcessPoolExecutor(workers, context, _leave_interrupts_to_parent) as pool:
        results: deque[Future[Result]] = deque()
        for part in parts:
            if len(results) >= WAITING * workers:
                yield results.popleft().result()
            results.append(pool.submit(work, part))
        while results:
            yield results.popleft().result()


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0))
