"""How many sentences of a task are done, on standard error."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

log = logging.getLogger(__name__)

EVERY_SECONDS = 30.0  # between two lines where no terminal shows a bar
Advance = Callable[[int], None]
"""Says that so many more sentences are done."""


@contextmanager
def sentence_count(
    doing: str, total: int | None, unit: str = "sentences", bar: bool = True
) -> Iterator[Advance]:
    """Yield what counts sentences or other units; ``total`` is None where it is not known.

    A terminal shows a bar, unless ``bar`` is false; without one, a line is logged now and then.
    """
    if not bar or not sys.stderr.isatty():
        yield _Lines(doing, total, unit)
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    named = TextColumn(unit), TimeElapsedColumn()
    with Progress(*columns, *named, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda count: progress.advance(task, count)


class _Lines:
    def __init__(self, doing: str, total: int | None, unit: str) -> None:
        self._doing, self._unit = doing, unit
        self._of = "" if total is None else f" of {total:,}"
        self._done, self._last = 0, time.monotonic()

    def __call__(self, count: int) -> None:
        self._done += count
        if time.monotonic() - self._last >= EVERY_SECONDS:
            self._last = time.monotonic()
            log.info("%s: %s%s %s", self._doing, f"{self._done:,}", self._of, self._unit)
