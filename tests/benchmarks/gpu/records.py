"""The figures so far: a file of JSON lines that several starts append to."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.gpu.cases import Case

Figures = dict[Case, dict[str, Any]]


class Machine(NamedTuple):
    """What the figures depend on besides the case."""

    gpu: str
    torch: str
    code: str
    """Version of the code that trains."""


def append(file: Path, machine: Machine, case: Case, figures: dict[str, Any]) -> None:
    """Append the figures of a case in one piece; the line is whole or, after a crash, ignored."""
    line = json.dumps({"machine": machine, "case": case, "figures": figures})
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(f"\n{line}\n".encode())  # begins a line of its own behind half a line
        out.flush()
        os.fsync(out.fileno())


def read(file: Path, machine: Machine) -> Figures:
    """Return the figures of a machine; half-written lines do not count."""
    found: Figures = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if Machine(*record["machine"]) == machine:
            found[Case(*record["case"])] = record["figures"]
    return found


def missing(file: Path, machine: Machine, wanted: Sequence[Case]) -> list[Case]:
    """Return the cases without figures; a case that failed has figures, namely its error."""
    found = read(file, machine)
    return [case for case in wanted if case not in found]
