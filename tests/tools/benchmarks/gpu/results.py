"""Results of the queue: JSON, a file for each GPU and item, to be committed."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from datamodules.files import write_json
from lightning_modules.runs.provenance import ROOT, git_commit

RESULTS = ROOT / "docs" / "findings" / "gpu"
DONE = "done"


@dataclass(frozen=True)
class Machine:
    """What computes."""

    gpu: str
    driver: str
    torch: str
    triton: str

    @classmethod
    def here(cls) -> "Machine":
        """Return this machine; ``cpu`` without a GPU."""
        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        try:
            triton = version("triton")
        except PackageNotFoundError:
            triton = "none"
        return cls(gpu, _driver(), torch.__version__, triton)


@dataclass(frozen=True)
class Result:
    """What an item of the queue found; figures that were there before a failure are kept."""

    item: str
    machine: Machine
    code: str  # version of the code that was measured
    commit: str | None
    day: str
    seconds: float
    outcome: str  # `DONE`, or why figures are missing
    figures: list[dict[str, Any]]

    @classmethod
    def of(cls, item: str, machine: Machine, code: str, seconds: float, outcome: str) -> "Result":
        """Return a result of today, without figures."""
        day = date.today().isoformat()
        return cls(item, machine, code, git_commit(), day, round(seconds, 1), outcome, [])

    @property
    def is_done(self) -> bool:
        """Whether no figure is missing."""
        return self.outcome == DONE


def file_of(folder: Path, machine: Machine, item: str) -> Path:
    """Return the file of an item; figures of different GPUs are never mixed."""
    return folder / _slug(machine.gpu) / f"{_slug(item)}.json"


def write_result(folder: Path, result: Result) -> None:
    """Write a result in place of an earlier one."""
    file = file_of(folder, result.machine, result.item)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, asdict(result))


def read_results(folder: Path) -> Iterator[Result]:
    """Yield all results, of all GPUs."""
    for file in sorted(folder.glob("*/*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        yield Result(**content | {"machine": Machine(**content["machine"])})


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the figures that a process has written, a JSON object a line; half a line is left."""
    if not file.is_file():
        return []
    *lines, _ = file.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines]


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.split("\n")[0].strip()
