"""What each mixer of a decoder costs: ``python -m tests.tools.benchmarks.recurrences``.

Training: seconds of an update of a Transformer with this mixer on both sides, as a multiple of the
same with LSTMs, for several lengths; the mixers take turns, one thread, medians. Decoding: bytes
that one hypothesis keeps of the tokens before it, and milliseconds of a step, at several lengths.
"""

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import get_args

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from datamodules.files import write_json
from lightning_modules.training.factories import build_model
from lightning_modules.training.process import keep_freed_memory
from lightning_modules.variants.base import for_each_tensor
from lightning_modules.variants.transformer.layers import MixerName
from tests.helpers.variants import configuration
from tests.tools.benchmarks.growth import BASE, update
from tests.tools.benchmarks.workloads import machine

MIXERS: tuple[str, ...] = get_args(MixerName)
LENGTHS = [20, 50, 200]  # tokens of sources and targets in training
REACHED = [125, 250, 500, 1000, 2000]  # tokens of a hypothesis
ROWS = 16  # hypotheses of a step


def sides(mixer: str) -> list[str]:
    """Return overrides of a Transformer of the laptop's size with a mixer on both sides."""
    return [
        "model=transformer",
        *(f"model.{side}_mixer={mixer}" for side in ("encoder", "decoder")),
    ]


def updates(rounds: int) -> dict[str, dict[int, float]]:
    """Return the seconds of an update by mixer and length."""
    medians: dict[str, dict[int, float]] = {mixer: {} for mixer in MIXERS}
    for length in LENGTHS:
        shape = BASE | {"source": length, "target": length}
        runs = {mixer: update(sides(mixer), shape) for mixer in MIXERS}
        taken: dict[str, list[float]] = {mixer: [] for mixer in MIXERS}
        for number in range(rounds + 1):
            for mixer, run in runs.items():
                seconds = timed(run)
                if number:  # the first warms up
                    taken[mixer].append(seconds)
        for mixer, seconds_of in taken.items():
            medians[mixer][length] = median(seconds_of)
        del runs
        gc.collect()
    return medians


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


@torch.no_grad()
def decoding(mixer: str) -> dict[int, tuple[int, float]]:
    """Return the bytes of a hypothesis and the milliseconds of a step, by tokens so far."""
    torch.manual_seed(0)
    model = build_model(configuration(*sides(mixer)), BASE["vocabulary"], BASE["vocabulary"]).eval()
    src = torch.randint(4, BASE["vocabulary"], (ROWS, BASE["source"]))
    memory = model.encode(src, torch.ones_like(src, dtype=torch.bool))
    state, last, found, steps = model.initial_state(memory), src[:, 0], {}, []
    for position in range(1, REACHED[-1] + 1):
        started = time.perf_counter()
        state = model.step(memory, state, last).state
        steps.append(time.perf_counter() - started)
        if position in REACHED:
            found[position] = bytes_of(state) // ROWS, 1000 * median(steps[-20:])
    return found


def bytes_of(state: object) -> int:
    """Return the bytes of all tensors of a state."""
    sizes: list[int] = []

    def count(tensor: Tensor) -> Tensor:
        sizes.append(tensor.nbytes)
        return tensor

    for_each_tensor(state, count)
    return sum(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/recurrences.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    training = updates(options.rounds)
    kept = {mixer: decoding(mixer) for mixer in MIXERS}
    write_json(options.out, {"machine": machine(), "update_seconds": training, "decoding": kept})
    show(training, kept)


def show(
    training: dict[str, dict[int, float]], kept: dict[str, dict[int, tuple[int, float]]]
) -> None:
    lstm = training["lstm"]
    relative = [
        [mixer, *(f"{taken[length] / lstm[length]:.2f}" for length in LENGTHS)]
        for mixer, taken in training.items()
    ]
    _print("an update, in updates with LSTMs, by tokens of a sentence", LENGTHS, relative)
    sizes = [
        [mixer, *(f"{kept[mixer][reached][0] / 1024:,.0f}" for reached in REACHED)]
        for mixer in MIXERS
    ]
    _print("KiB of a hypothesis by its tokens", REACHED, sizes)
    steps = [
        [mixer, *(f"{kept[mixer][reached][1]:.2f}" for reached in REACHED)] for mixer in MIXERS
    ]
    _print(f"ms of a step of {ROWS} hypotheses by their tokens", REACHED, steps)


def _print(title: str, columns: list[int], rows: list[list[str]]) -> None:
    table = Table(title=title)
    table.add_column("mixer")
    for column in columns:
        table.add_column(f"{column:,}", justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
