"""Timing a training from inside, with a callback for ``run.py``."""

import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytorch_lightning as pl
import torch

from datamodules.batching import Batch
from datamodules.files import write_json
from lightning_modules.runs.environment import peak_memory_mib

WINDOW = 10
"""Updates between two readings of the clock."""


class Windows:
    """Real target tokens per second of all ranks, by windows of updates; the first warms up.

    Args:
        count: number of windows after the first.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.rates: list[float] = []
        self.updates: list[float] = []
        self._updates = self._tokens = 0
        self._started = time.perf_counter()

    def add(self, batch: Batch) -> bool:
        """Count an update; return whether all windows are full."""
        self._updates += 1
        self._tokens += batch.update_tokens
        if self._updates % WINDOW == 0:
            if batch.src.is_cuda:
                torch.cuda.synchronize()
            now = time.perf_counter()
            if self._updates > WINDOW:
                self.rates.append(self._tokens / (now - self._started))
                self.updates.append((now - self._started) / WINDOW)
            self._started, self._tokens = now, 0
        return len(self.rates) == self.count

    def result(self) -> dict[str, Any]:
        """Return the median, all windows, and the peak of this process's memory."""
        figures = {
            "tokens_per_second": median(self.rates),
            "windows": self.rates,
            "seconds_per_update": median(self.updates),
            "peak_memory_mib": peak_memory_mib(),
        }
        if torch.cuda.is_available():
            figures["peak_memory_mib"] = torch.cuda.max_memory_allocated() / 2**20
        return figures


class Stopwatch(pl.Callback):
    """Write ``file`` when the windows are full, and end the process there."""

    def __init__(self, file: str, windows: int, process_started: float) -> None:
        self.file = Path(file)
        self.windows = Windows(windows)
        self.process_started = process_started
        self.first_step: float | None = None

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Count an update."""
        if self.first_step is None:
            self.first_step = time.time() - self.process_started
        if self.windows.add(batch):
            write_json(self.file, self.windows.result() | {"first_step": self.first_step})
            os._exit(0)
