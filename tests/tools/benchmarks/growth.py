"""How each cost grows: ``make growth`` prints seconds and fitted exponents of a training update.

One dimension is varied at a time, the others stay at ``BASE``; one thread, medians. An exponent of
1 means that twice as much takes twice as long; exponents are fitted to the upper half of the
values, where fixed costs matter less.
"""

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from datamodules.batching import Batch, EncodedPairs, Sequences, collate
from datamodules.files import write_json
from lightning_modules.training.factories import build_model, build_optimizer
from lightning_modules.training.process import keep_freed_memory
from lightning_modules.variants import EncoderDecoder
from tests.helpers.variants import configuration
from tests.tools.benchmarks.workloads import WORKLOADS, machine, overrides_at

BASE = {"source": 20, "target": 20, "batch": 16, "vocabulary": 4000, "width": 128}
VALUES = {
    "source": [10, 20, 40, 80, 160],
    "target": [10, 20, 40, 80, 160],
    "batch": [4, 8, 16, 32, 64],
    "vocabulary": [1000, 4000, 16000, 64000],
    "width": [64, 128, 256, 512, 1024],
}
REPEATS = 3


def random_batch(shape: dict[str, int]) -> Batch:
    draws, rows = np.random.default_rng(0), shape["batch"]
    sides = []
    for side in ("source", "target"):
        words = shape[side] - 1  # EOS is added
        tokens = draws.integers(4, shape["vocabulary"], rows * words)
        sides.append(Sequences.joined(tokens, np.full(rows, words)))
    return collate(EncodedPairs(None, *sides))


def update(overrides: list[str], shape: dict[str, int]) -> Callable[[], None]:
    """Return a training update of a variant on a random batch of a shape."""
    torch.manual_seed(0)
    config = configuration(*overrides)
    model: EncoderDecoder = build_model(config, shape["vocabulary"], shape["vocabulary"])
    model = model.train()
    optimizer = build_optimizer(config)(list(model.parameters()))
    batch = random_batch(shape)

    def run() -> None:
        optimizer.zero_grad()
        features = model.decode(model.encode(*batch.source), batch.tgt_in).features
        model.loss(features.flatten(0, 1), batch.tgt_out.flatten(), 0.1).backward()
        optimizer.step()

    return run


def seconds(run: Callable[[], None]) -> float:
    """Return the median of some calls after one to warm up."""
    run()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return median(times)


def exponent(values: list[int], times: list[float]) -> float:
    """Fit ``time = a · value^b`` to the upper half and return b."""
    half = len(values) // 2
    return float(np.polyfit(np.log(values[half:]), np.log(times[half:]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=WORKLOADS, action="append", help="measure these alone")
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/growth.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    names = options.only or list(WORKLOADS)
    times: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for name in names:
        for dimension, values in VALUES.items():
            shapes = [BASE | {dimension: value} for value in values]
            times[name][dimension] = [
                seconds(update(overrides_at(name, shape["width"]), shape)) for shape in shapes
            ]
            gc.collect()
    fitted = {
        name: {
            dimension: exponent(VALUES[dimension], taken) for dimension, taken in measured.items()
        }
        for name, measured in times.items()
    }
    settings = {"machine": machine(), "base": BASE, "values": VALUES}
    write_json(options.out, settings | {"seconds": times, "exponents": fitted})
    show(times, fitted)


def show(times: dict[str, dict[str, list[float]]], fitted: dict[str, dict[str, float]]) -> None:
    for dimension, values in VALUES.items():
        table = Table(title=f"one update in ms by {dimension}")
        table.add_column("variant")
        for value in values:
            table.add_column(f"{value:,}", justify="right")
        table.add_column("exponent", justify="right")
        for name, measured in times.items():
            cells = [f"{1000 * second:,.0f}" for second in measured[dimension]]
            table.add_row(name, *cells, f"{fitted[name][dimension]:.2f}")
        Console(width=110).print(table)


if __name__ == "__main__":
    main()
