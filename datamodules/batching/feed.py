"""The feed of a training: batches that threads build ahead, so that no device waits for them.

Not a ``DataLoader``: its processes send each batch to the training, which takes ten times as long
as to build it (0.5 against 7 million target tokens a second in batches of 4,096), and without
processes BPE dropout, 14 ms a batch, would delay a GPU. numpy reads and copies without Python's
lock; threads start at once, share the mapped files, and end with the pass.
"""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch.utils.data import Dataset, Sampler

from datamodules.batching.batches import Batch

AHEAD = 32  # most batches that wait for their use, enough to sort the next pool of pairs meanwhile


class Feed:
    """The batches of a sampler, in its order with any number of threads.

    Batches that were built but not used leave no trace: the next pass begins where its sampler
    begins.
    """

    def __init__(
        self,
        pairs: Dataset[Batch],
        sampler: Sampler[Any],
        workers: int,
        device: torch.device | None = None,
    ) -> None:
        """Store the parts; ``pairs`` gives the batch for each selection of ``sampler``.

        ``workers`` threads build batches ahead; with 0, each batch is built when it is used.
        Batches for a CUDA ``device`` are put into pinned memory.
        """
        self.sampler = sampler
        self.waited = 0.0  # seconds in all passes that the training waited for a batch
        self._pairs = pairs
        self._workers = workers
        self._cuda = numbered(device) if device is not None and device.type == "cuda" else None

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Batch]:
        batches = self._build_ahead() if self._workers else map(self._build, self.sampler)
        while True:
            started = time.perf_counter()
            batch = next(batches, None)
            self.waited += time.perf_counter() - started
            if batch is None:
                return
            yield batch

    def _build_ahead(self) -> Iterator[Batch]:
        """Yield the batches; an error of a thread is raised where its batch would be."""
        selections = iter(self.sampler)
        # One thread asks the sampler, so that selections and batches have the same order.
        order = ThreadPoolExecutor(1, "order")
        builders = ThreadPoolExecutor(self._workers, "batches", self._use_device)

        def build_next() -> Future[Batch | None]:
            selection = order.submit(next, selections, None)
            return builders.submit(lambda: self._build(selection.result()))

        try:
            waiting = deque(build_next() for _ in range(AHEAD))
            while (batch := waiting.popleft().result()) is not None:
                waiting.append(build_next())
                yield batch
        finally:
            for threads in (builders, order):
                threads.shutdown(cancel_futures=True)

    def _build(self, selection: Any) -> Batch | None:
        """Return the batch of a selection; None after the last."""
        if selection is None:
            return None
        batch = self._pairs[selection]
        return batch.pin_memory() if self._cuda is not None else batch

    def _use_device(self) -> None:
        if self._cuda is not None:
            torch.cuda.set_device(self._cuda)


def numbered(device: torch.device) -> torch.device:
    """Return the CUDA device with its number; threads cannot use ``cuda`` alone."""
    if device.index is not None:
        return device
    return torch.device("cuda", torch.cuda.current_device())
