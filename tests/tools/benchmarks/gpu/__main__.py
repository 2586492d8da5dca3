"""Measure on the GPU of this machine, and write ``docs/gpu.md``: ``make benchmark-gpu``.

The figures so far are lines of a file, to which each start appends. A case that ends the process
keeps the error that was written before it began.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from datamodules.errors import one_line
from datamodules.files import write_text
from lightning_modules.runs.provenance import ROOT, code_versions, git_commit
from tests.tools.benchmarks.gpu.measuring import (
    FILES,
    LOADS,
    LOOPS,
    PRECISIONS,
    SIZES,
    Case,
    all_cases,
    measure,
)

FILE = ROOT / "outputs" / "benchmarks" / "gpu.jsonl"
PAGE = ROOT / "docs" / "gpu.md"
LONGEST_ERROR = 160
Figures = dict[Case, dict[str, Any]]
PEAKS = {
    r"\bB200\b": (2250, 75),
    r"\bGB200\b": (2500, 80),
    r"\bH200 NVL\b": (835, 60),
    r"\b(H200|GH200)\b": (989, 67),
    r"\bH100 PCIe\b": (756, 51),
    r"\bH100 NVL\b": (835, 60),
    r"\bH100 80GB HBM3$": (989, 67),
    r"\bA100\b": (312, 19.5),
    r"\bA30\b": (165, 10.3),
    r"\bA10G?\b": (125, 31.2),
    r"\bL40S\b": (362, 91.6),
    r"\bL4\b": (121, 30.3),
    r"\bRTX 4090\b": (165, 82.6),
    r"\bRTX 3090\b": (71, 35.6),
    r"\bRTX A6000\b": (155, 38.7),
}
"""10¹² operations per second in bfloat16 with sums in float32 (dense, tensor cores) and in float32
without TF32, by a pattern of the name that torch gives. Source: NVIDIA's data sheets and, for
GeForce, the white papers of Ampere (GA102) and Ada; figures "with sparsity" are halved."""
NONE = "–"
TITLES = {
    "train": ("tokens/s", "of the peak", "MiB"),
    "compiled": ("compiled: tokens/s", "of the peak", "MiB"),
    "plain": ("plain loop", "ratio"),
    "decode": ("greedy", "beam 5"),
}
TEXT = """# On a GPU

`make benchmark-gpu` writes this page and continues where it stopped; do not edit the page.

{where}

Sentences are random, as long as those of news text (28 subwords on average, at most 100).
Published sizes have a vocabulary of {published.vocabulary:,} and batches of {published.tokens:,}
padded tokens, laptop sizes {laptop.vocabulary:,} and {laptop.tokens:,}.

- *tokens/s*: real target tokens per second in Lightning's loop with the training step of
  `task=train`; *compiled* is `compile=default`. MiB: the peak memory of tensors on the GPU.
- *of the peak*: the FLOPs of `budget=flops`, without padding, compared with the peak in the data
  sheet of the GPU (bf16: dense; float32: without TF32).
- *plain loop*: the same model in plain PyTorch (`tests/tools/benchmarks/rivals/bare.py`) on the
  same batches: RNNsearch and Luong's model with one layer of LSTM units. *Ratio*: the faster of
  both rates of the harness, divided by the rate of the plain loop.
- *greedy*, *beam 5*: sentences per second; hypotheses are as long as their sources.

{table}{failed}
{missing} of {all} measurements are missing.
"""


def main() -> int:
    """Return the exit status: 0 with all figures, 1 if some are missing, 2 without a GPU."""
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="tests.tools.benchmarks.gpu", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8, help="begin no case later (default 8)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("error: torch finds no GPU on this machine; docs/gpu.md stays", file=sys.stderr)
        return 2
    machine = [
        torch.cuda.get_device_name(),
        f"driver {driver()}",
        f"torch {torch.__version__}",
        f"training code {code_versions(OmegaConf.create()).training}",
    ]
    for case in all_cases():
        if case not in read_figures(FILE, machine):
            if time.monotonic() - started > 60 * options.minutes:
                break
            print(case, flush=True)
            measure_case(FILE, machine, case, "cuda")
    figures = read_figures(FILE, machine)
    write_text(PAGE, page_text(machine, figures))
    missing = len(all_cases()) - len(figures)
    print(f"wrote {PAGE.name}; {missing} figures are missing: start again to continue")
    return int(missing > 0)


def measure_case(file: Path, machine: Sequence[str], case: Case, device: str) -> None:
    """Append the figures of a case to a file, or its error."""
    append_figures(file, machine, case, {"error": "the process ended"})
    try:
        figures = measure(case, LOADS[case.size], device)
    except Exception as error:
        of_memory = isinstance(error, torch.OutOfMemoryError)
        figures = {"error": "out of memory" if of_memory else one_line(error)[:LONGEST_ERROR]}
    append_figures(file, machine, case, figures)


def append_figures(file: Path, machine: Sequence[str], case: Case, figures: dict[str, Any]) -> None:
    """Append the figures of a case in one piece; the line is whole or, after a crash, ignored."""
    line = json.dumps({"machine": [*machine], "case": case, "figures": figures})
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(f"\n{line}\n".encode())  # begins a line of its own after half a line


def read_figures(file: Path, machine: Sequence[str]) -> Figures:
    """Return the figures of a machine; half-written lines do not count."""
    found: Figures = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
        with suppress(ValueError):
            record = json.loads(line)
            if record["machine"] == [*machine]:
                found[Case(*record["case"])] = record["figures"]
    return found


def page_text(machine: Sequence[str], figures: Figures) -> str:
    titles = [
        "variant",
        "size",
        "precision",
        *(title for each in TITLES.values() for title in each),
    ]
    rows = [
        [name, size, precision, *_cells(machine[0], figures, Case(name, size, "train", precision))]
        for size, precision, name in product(SIZES, PRECISIONS, (*FILES, *LOOPS))
    ]
    measured = [row for row in rows if set(row[3:]) != {NONE}]
    lines = [titles, ["---"] * len(titles), *measured]
    failed = [
        f"- {case}: {found['error']}\n" for case, found in figures.items() if "error" in found
    ]
    return TEXT.format(
        where=", ".join([*machine, f"commit {git_commit()}", date.today().isoformat()]),
        published=LOADS["published"],
        laptop=LOADS["laptop"],
        table="".join(f"| {' | '.join(line)} |\n" for line in lines),
        failed="".join(["\nFailed:\n\n", *failed]) if failed else "",
        missing=len(all_cases()) - len(figures),
        all=len(all_cases()),
    )


def _cells(gpu: str, figures: Figures, case: Case) -> list[str]:
    """Return the cells of a row, with a dash for what is not there."""
    plain, decode = case._replace(work="plain"), case._replace(work="decode")
    both = (case, case._replace(compiled=True))
    rates = [figures.get(each, {}).get("tokens_per_second") for each in (*both, plain)]
    best = max((each for each in rates[:2] if each), default=None)
    cells: list[tuple[float | None, str]] = []
    for each, rate in zip(both, rates, strict=False):
        found = figures.get(each, {})
        peak = peak_flops(gpu, case.precision)
        share = rate * found["flops_per_token"] / peak if rate and peak else None
        cells += [(rate, ",.0f"), (share, ".0%"), (found.get("peak_memory_mib"), ",.0f")]
    cells += [(rates[2], ",.0f"), (best / rates[2] if best and rates[2] else None, ".2f")]
    cells += [(figures.get(decode, {}).get(name), ",.0f") for name in ("greedy", "beam")]
    return [NONE if figure is None else format(figure, form) for figure, form in cells]


def peak_flops(gpu: str, precision: str) -> float | None:
    """Return the FLOPs per second of a GPU in ``bf16`` or ``float32``; None for an unknown GPU.

    A part of a GPU (MIG) is unknown.
    """
    if "MIG" in gpu:
        return None
    for pattern, (bf16, float32) in PEAKS.items():
        if re.search(pattern, gpu):
            return 1e12 * (bf16 if precision == "bf16" else float32)
    return None


def driver() -> str:
    """Return the version of the GPU's driver; ``unknown`` without ``nvidia-smi``."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.split("\n")[0].strip()


if __name__ == "__main__":
    sys.exit(main())
