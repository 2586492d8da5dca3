"""Processes of their own for work that may be killed."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

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
    with ProcessPoolExecutor(1, get_context("fork"), _end_with_parent) as pool:
        worker = pool.submit(here).result()
        try:
            return pool.submit(task, *arguments).result()
        except BrokenProcessPool:
            raise DiedError(worker) from None


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
