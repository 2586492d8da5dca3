"""Work on the parts of a corpus in several processes, with a bounded number of parts in memory."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from threading import Thread
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
    with ProcessPoolExecutor(workers, context, _follow_parent) as pool:
        results: deque[Future[Result]] = deque()
        for part in parts:
            if len(results) >= WAITING * workers:
                yield results.popleft().result()
            results.append(pool.submit(work, part))
        while results:
            yield results.popleft().result()


def _follow_parent() -> None:
    """Leave interrupts to the parent, and end when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0))
