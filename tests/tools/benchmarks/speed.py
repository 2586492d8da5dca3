"""How fast each variant trains and translates, beside a bare PyTorch loop: ``make benchmark``.

Every measurement has a process of its own with one thread; the harness and the bare loop take
turns, and the table has medians. "Of the peak" compares with a large product of matrices, as the
faster of torch and oneDNN multiplies. CTranslate2 translates with the same Transformer, in this
environment or in that of ``--ctranslate2 PYTHON``. The time of the harness around a step is
measured on a tiny model, where noise does not hide that time.
``outputs/benchmarks`` keeps the figures as JSON with the machine.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from datamodules.files import write_json
from tests.tools.benchmarks.workloads import MULTI30K, WORKLOADS, data_overrides, machine

ROOT = Path(__file__).resolve().parents[3]
NEXT_TO_NOTHING = [
    f"model.{size}=8"
    for size in ("embedding_size", "hidden_size", "encoder.hidden_size", "readout.size")
] + ["batching.max_tokens=200"]
COLUMNS = {
    "training tokens/s": ("harness", "tokens_per_second", ",.0f"),
    "bare loop": ("bare", "tokens_per_second", ",.0f"),
    "ratio": ("ratio", None, ".2f"),
    "around the step": ("around", None, ".2%"),
    "GFLOP/s": ("gflops", None, ",.0f"),
    "of the peak": ("share", None, ".0%"),
    "greedy sentences/s": ("decode", "greedy", ",.0f"),
    "beam 5": ("decode", "beam", ",.0f"),
    "greedy, int8": ("decode", "greedy, int8", ",.0f"),
    "beam 5, int8": ("decode", "beam, int8", ",.0f"),
    "memory MiB": ("harness", "peak_memory_mib", ",.0f"),
    "of the bare loop": ("bare", "peak_memory_mib", ",.0f"),
    "first step, s": ("harness", "first_step", ".1f"),
}


def worker(job: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.tools.benchmarks.worker", json.dumps(job)]
    result: dict[str, Any] = json.loads(_run(command).splitlines()[-1])
    return result


def harness(name: str, windows: int, overrides: list[str]) -> dict[str, Any]:
    """Train with ``run.py`` as a user does, until the stopwatch ends it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rates.json"
        watch = (
            "+callbacks.watch={_target_: tests.tools.benchmarks.worker.Stopwatch, "
            f"file: {file}, windows: {windows}, process_started: {time.time()}}}"
        )
        fixed = ["threads=1", "logger=none", f"hydra.run.dir={folder}/run", watch]
        settings = [*data_overrides(), *WORKLOADS[name].overrides, *fixed, *overrides]
        output = _run([sys.executable, "run.py", *settings])
        if not file.is_file():
            raise RuntimeError(output)
        rates: dict[str, Any] = json.loads(file.read_text())
        return rates


def _run(command: list[str]) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def measure(name: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Measure one workload: each kind's rounds, put together."""
    job = {"workload": name, "windows": options.windows}
    job |= {"overrides": options.overrides, "ctranslate2": options.ctranslate2}
    kinds = ("bare", "harness", "direct", "decode")
    rounds: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        rounds["bare"].append(worker(job | {"kind": "bare"}))
        rounds["harness"].append(harness(name, options.windows, options.overrides))
    rounds["direct"].append(worker(job | {"kind": "direct"}))
    rounds["decode"].append(worker(job | {"kind": "decode"}))
    return {kind: _together(results) for kind, results in rounds.items()}


def around(options: argparse.Namespace) -> float:
    """Return the seconds that the harness adds to an update."""
    overrides = [*NEXT_TO_NOTHING, *options.overrides]
    job = {"workload": "no attention", "kind": "direct", "windows": 10}
    job["overrides"] = overrides
    alone, inside = worker(job), harness("no attention", 10, overrides)
    return inside["seconds_per_update"] - alone["seconds_per_update"]


def _together(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = [key for key, value in rounds[0].items() if isinstance(value, float)]
    joined = {key: median(result[key] for result in rounds) for key in numbers}
    if "windows" in rounds[0]:
        joined["windows"] = [rate for result in rounds for rate in result["windows"]]
        joined["tokens_per_second"] = median(joined["windows"])
    return joined


def row(measured: dict[str, dict[str, Any]], seconds_around: float) -> dict[str, float]:
    rate = {kind: measured[kind]["tokens_per_second"] for kind in ("bare", "harness")}
    speed = rate["harness"] * measured["direct"]["flops_per_token"]
    derived = {
        "gflops": speed / 1e9,
        "share": speed / measured["direct"]["peak_flops"],
        "ratio": rate["harness"] / rate["bare"],
        "around": seconds_around / measured["harness"]["seconds_per_update"],
    }
    return {
        title: derived[kind] if key is None else measured[kind].get(key, math.nan)
        for title, (kind, key, _) in COLUMNS.items()
    }


def table(rows: dict[str, dict[str, float]]) -> Table:
    shown = Table(title="Speed, one thread" if rows else None)
    shown.add_column("variant")
    for title in COLUMNS:
        shown.add_column(title, justify="right")
    for name, figures in rows.items():
        cells = [format(figures[title], form) for title, (_, _, form) in COLUMNS.items()]
        shown.add_row(name, *cells)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=WORKLOADS, action="append", help="measure these alone")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--windows", type=int, default=2, help="of ten updates, in each round")
    parser.add_argument("--ctranslate2", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/speed.json"))
    parser.add_argument("overrides", nargs="*", help="of the harness: trainer.precision=bf16-mixed")
    options = parser.parse_args()
    seconds_around = around(options)
    print(f"around a step: {1000 * seconds_around:.2f} ms", flush=True)
    results = {}
    for name in options.only or WORKLOADS:
        results[name] = measure(name, options)
        figures = row(results[name], seconds_around)
        print(name, {title: round(value, 3) for title, value in figures.items()}, flush=True)
        for kind, others in (("decode", "CTranslate2"), ("direct", "product_flops")):
            rates = {
                key: f"{rate:,.0f}" for key, rate in results[name][kind].items() if others in key
            }
            print(*(f"{key}: {rate}" for key, rate in rates.items()), sep="; ", flush=True)
    rows = {name: row(measured, seconds_around) for name, measured in results.items()}
    corpus = "multi30k" if MULTI30K.is_dir() else "grammar"
    settings = {"machine": machine(), "corpus": corpus, "overrides": options.overrides}
    write_json(options.out, settings | {"rows": rows, "measured": results})
    Console(width=200).print(table(rows))


if __name__ == "__main__":
    main()
