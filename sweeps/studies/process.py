"""Processes of their own for work that may be killed."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

from sweeps.parent import end_with_parent
from sweeps.studies.places import here

Returned = TypeVar("Returned")


class DiedError(RuntimeError):
    """A process that was killed, or ended without a word."""

    def __init__(self, worker: str) -> None:
        super().__init__("a worker died before it took a trial")
        self.worker = worker
        """As trials remember it."""


def run_apart(task: Callable[..., Returned], *arguments: object) -> Returned:
    """Call ``task`` in a fork of this process, which never outlives it.

    Raises what the task raises, and ``DiedError``.
    """
    with ProcessPoolExecutor(1, get_context("fork"), end_with_parent) as pool:
        worker = pool.submit(here).result()
        try:
            return pool.submit(task, *arguments).result()
        except BrokenProcessPool:
            raise DiedError(worker) from None
