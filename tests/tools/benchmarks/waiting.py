"""What threads that wait for each other cost, alone and beside busy processes: a Markdown table.

``python -m tests.tools.benchmarks.waiting [--rounds 3]`` on a machine that does nothing else. Every
measurement has a process of its own; all settings take turns within a round, and the table has
medians. *Seconds* are those of the processors for 1,000 target tokens, of all threads together.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median

import torch

from datamodules.files import write_json
from lightning_modules.kernels.threads import SPINS, WAITING
from lightning_modules.training.factories import build_data
from lightning_modules.training.process import prepare_process
from tests.helpers.variants import configuration
from tests.tools.benchmarks.worker import batches_on, direct_step
from tests.tools.benchmarks.workloads import machine

ROOT = Path(__file__).resolve().parents[3]
MODELS = {
    "Bahdanau, laptop size": ["model=bahdanau"],
    "Transformer, laptop size": ["model=transformer"],
    "Bahdanau, four times as wide": ["model=bahdanau", "scale=4"],
}
CORPUS = ["data.train_size=2000", "data.val_size=12", "data.test_size=24"]
WARM_UP = 5  # updates
OWN = "OpenMP's own 300,000 turns"
SETTINGS = {
    "one thread": {"OMP_NUM_THREADS": "1"},
    OWN: {},
    "asleep at once": {"OMP_WAIT_POLICY": "passive"},
    **{f"{turns:,} turns": {"GOMP_SPINCOUNT": str(turns)} for turns in (3_000, SPINS)},
}
"""How threads wait, as the environment of a process; all but the first use every processor."""
FIGURES = ("tokens_per_second", "processor_seconds")
Measured = dict[str, float]


def measure(name: str, updates: int) -> Measured:
    """Train a model for some updates, without the harness around them."""
    config = configuration(*MODELS[name], *CORPUS)
    prepare_process(config)
    torch.manual_seed(1)
    data = build_data(config)
    step, batches = direct_step(config, data), batches_on(data.train_dataloader(), "cpu")
    for _ in range(WARM_UP):
        step(next(batches))
    tokens, started, spent = 0, time.perf_counter(), time.process_time()
    for _ in range(updates):
        batch = next(batches)
        step(batch)
        tokens += batch.update_tokens
    return {
        "tokens_per_second": tokens / (time.perf_counter() - started),
        "processor_seconds": (time.process_time() - spent) / tokens * 1_000,
    }


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Let so many processes compute, each in a session of its own as those of other users."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measured_with(setting: str, name: str, updates: int, busy: int) -> Measured:
    """Return what a process of its own measures, beside ``busy`` others."""
    unset = {*WAITING, "OMP_NUM_THREADS"}
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    command = [sys.executable, "-m", __spec__.name, "--measure", name, "--updates", str(updates)]
    with busy_processes(busy):
        done = subprocess.run(
            command, cwd=ROOT, env=environment | SETTINGS[setting], capture_output=True, text=True
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    result: Measured = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", choices=MODELS, help="this alone, in this process")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=4, help="processes beside the training")
    parser.add_argument("--only", choices=MODELS, action="append", help="these models alone")
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/waiting.json"))
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.updates)), flush=True)
        os._exit(0)  # the feed would build further batches
    loads = (0, options.busy)
    cases = list(product(options.only or MODELS, loads, SETTINGS))
    found: dict[tuple[str, int, str], list[Measured]] = {case: [] for case in cases}
    for _, (name, load, setting) in product(range(options.rounds), cases):
        measured = measured_with(setting, name, options.updates, load)
        found[name, load, setting].append(measured)
        print(name, f"{load} busy", setting, measured, sep="; ", file=sys.stderr, flush=True)
    rows = {
        case: {figure: median(each[figure] for each in rounds) for figure in FIGURES}
        for case, rounds in found.items()
    }
    kept = [{"case": case, "rounds": found[case], **figures} for case, figures in rows.items()]
    write_json(options.out, {"machine": machine(), "measured": kept})
    print(
        "| model | threads wait | alone, tokens/s | seconds | beside others, tokens/s | seconds |"
    )
    print("|---|---|---|---|---|---|")
    for name, setting in product(options.only or MODELS, SETTINGS):
        cells = [
            format(rows[name, load, setting][figure], form)
            for load, (figure, form) in product(loads, zip(FIGURES, (",.0f", ".2f"), strict=True))
        ]
        print("|", " | ".join([name, setting, *cells]), "|")


if __name__ == "__main__":
    main()
