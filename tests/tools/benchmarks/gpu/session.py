"""Measures the missing cases until the time is over, then writes the page."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import date
from multiprocessing import get_context
from pathlib import Path

import torch
from omegaconf import OmegaConf

from datamodules.errors import one_line
from datamodules.files import write_text
from lightning_modules.runs.paths import ROOT
from lightning_modules.runs.provenance import code_versions, git_commit
from tests.tools.benchmarks.gpu.cases import (
    LOADS,
    Case,
    Load,
    Machine,
    Size,
    all_cases,
    append_figures,
    read_figures,
)
from tests.tools.benchmarks.gpu.measuring import measure
from tests.tools.benchmarks.gpu.page import About, page_text

FILE = ROOT / "outputs" / "benchmarks" / "gpu.jsonl"
PAGE = ROOT / "docs" / "gpu.md"
SECONDS_TO_END = 10.0
"""Kept of the time of a start, to end the processes and to write the page."""
LONGEST_ERROR = 160


def run(
    file: Path,
    page: Path,
    deadline: float,
    device: str = "cuda",
    wanted: Sequence[Case] | None = None,
    loads: Mapping[Size, Load] = LOADS,
) -> list[Case]:
    """Measure until ``deadline`` (of ``time.monotonic``), write the page, return what is missing.

    Each process measures until a case fails, since an error may leave a GPU unusable; the next
    process goes on behind the failed case. ``device``, ``wanted`` and ``loads`` are for tests.
    """
    wanted = all_cases() if wanted is None else wanted
    name = torch.cuda.get_device_name() if device == "cuda" else device
    machine = Machine(name, torch.__version__, code_versions(OmegaConf.create()).training)
    while left := missing_cases(file, machine, wanted):
        arguments = (file, machine, left, loads, device)
        process = get_context("spawn").Process(target=measure_all, args=arguments)
        process.start()
        process.join(max(0.0, deadline - SECONDS_TO_END - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
            break
        if process.exitcode:
            failed = missing_cases(file, machine, left)[:1]
            for case in failed:
                died = f"the process ended with status {process.exitcode}"
                append_figures(file, machine, case, {"error": died})
    left = missing_cases(file, machine, wanted)
    about = About(machine, driver(), git_commit(), date.today().isoformat())
    write_text(page, page_text(about, read_figures(file, machine), left))
    return left


def missing_cases(file: Path, machine: Machine, wanted: Sequence[Case]) -> list[Case]:
    """Return the cases without figures; a case that failed has figures, namely its error."""
    found = read_figures(file, machine)
    return [case for case in wanted if case not in found]


def measure_all(
    file: Path, machine: Machine, wanted: Sequence[Case], loads: Mapping[Size, Load], device: str
) -> None:
    """Measure in turn, until all is measured or a case has failed."""
    for case in wanted:
        print(case, flush=True)
        try:
            append_figures(file, machine, case, measure(case, loads[case.size], device))
        except Exception as error:
            of_memory = isinstance(error, torch.OutOfMemoryError)
            why = "out of memory" if of_memory else one_line(error)[:LONGEST_ERROR]
            append_figures(file, machine, case, {"error": why})
            return


def driver() -> str:
    """Return the version of the GPU's driver; ``unknown`` without ``nvidia-smi``."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.split("\n")[0].strip()
