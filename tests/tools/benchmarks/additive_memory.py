"""Additive energies at (64, 100, 100, 512): peak memory and time beside the plain formula.

``python -m tests.tools.benchmarks.additive_memory``: forward and backward, each way in processes of
its own, one thread, medians. "compiled" is the formula with ``compile=default``.
"""

import json
import subprocess
import sys
import time
from statistics import median

import torch

from lightning_modules.kernels.chunked import additive_energies
from lightning_modules.runs.provenance import peak_memory_mib

BATCH, TGT, SRC, SIZE = 64, 100, 100, 512


def plain(query: torch.Tensor, keys: torch.Tensor, energy: torch.Tensor) -> torch.Tensor:
    """Return the energies by the formula."""
    return (query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh() @ energy


WAYS = {"plain": plain, "chunks": additive_energies}


def measure(way: str) -> dict[str, float]:
    """Return the peak beyond the inputs in MiB and the seconds of a pass."""
    torch.set_num_threads(1)
    shapes = (BATCH, TGT, SIZE), (BATCH, SRC, SIZE), (SIZE,)
    inputs = [torch.randn(*shape).requires_grad_() for shape in shapes]
    run = WAYS.get(way) or torch.compile(additive_energies)
    before = peak_memory_mib()
    times = []
    for _ in range(4):
        started = time.perf_counter()
        energies = run(*inputs)
        energies.backward(torch.ones_like(energies))
        times.append(time.perf_counter() - started)
    return {"mib": peak_memory_mib() - before, "seconds": median(times[1:])}


def main() -> None:
    """Measure both ways in turns, or one way in this process."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    results: dict[str, list[dict[str, float]]] = {way: [] for way in [*WAYS, "compiled"]}
    for _ in range(2):
        for way, rounds in results.items():
            command = [sys.executable, "-m", "tests.tools.benchmarks.additive_memory", way]
            rounds.append(json.loads(subprocess.check_output(command)))
    middle = {
        way: {key: median(figures[key] for figures in rounds) for key in rounds[0]}
        for way, rounds in results.items()
    }
    for way, figures in middle.items():
        print(f"{way:8} {figures['mib']:8,.0f} MiB {figures['seconds']:6.2f} s")
        share = {key: figures[key] / middle["plain"][key] for key in figures}
        print(f"         {share['mib']:.3f} × the memory, {share['seconds']:.2f} × the time")


if __name__ == "__main__":
    main()
