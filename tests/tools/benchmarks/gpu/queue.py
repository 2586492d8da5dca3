"""The queue: which item is next, and each item in a process of its own with a time limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from lightning_modules.runs.provenance import ROOT
from tests.tools.benchmarks.gpu.items import Item
from tests.tools.benchmarks.gpu.results import DONE, Machine, Result, read_lines, write_result

LOGS = ROOT / "outputs" / "benchmarks" / "gpu"
GRACE = 10.0  # seconds to end in, after an item's time is up
SHORTEST = 0.5  # share of its time limit for which an item is begun


class Place(NamedTuple):
    """Where the queue computes, and where it writes."""

    machine: Machine
    results: Path
    logs: Path = LOGS
    further: Sequence[str] = ()  # arguments of every item


def next_item(
    items: Sequence[Item], results: Mapping[str, Result], tried: Sequence[str], seconds: float
) -> Item | None:
    """Return the first item that is missing and fits into the time, else one that failed.

    What was measured on other code is missing. An item is tried once.
    """
    open_items = [
        item
        for item in items
        if item.name not in tried
        and SHORTEST * item.seconds <= seconds
        and not _known(item, results)
    ]
    failed = [item for item in open_items if _of_this_code(item, results)]
    missing = [item for item in open_items if item not in failed]
    return next(iter([*missing, *failed]), None)


def _of_this_code(item: Item, results: Mapping[str, Result]) -> bool:
    return item.name in results and results[item.name].code == item.version


def _known(item: Item, results: Mapping[str, Result]) -> bool:
    return _of_this_code(item, results) and results[item.name].is_done


def work_off(
    items: Sequence[Item],
    results: dict[str, Result],
    seconds: float,
    place: Place,
    after_each: Callable[[], None],
) -> None:
    """Run items until ``seconds`` are over; add to ``results``, by the names of items."""
    ends, tried = time.monotonic() + seconds, list[str]()
    while item := next_item(items, results, tried, ends - time.monotonic()):
        tried.append(item.name)
        limit = min(item.seconds, ends - time.monotonic())
        print(f"{item.name}: at most {limit:.0f} s", flush=True)
        result = run_item(item, limit, place)
        earlier = results.get(item.name)
        if result.is_done or result.figures or earlier is None or earlier.code != result.code:
            results[item.name] = result
            write_result(place.results, result)
        print(f"{item.name}: {result.outcome}, {result.seconds:.0f} s", flush=True)
        after_each()


def run_item(item: Item, limit: float, place: Place) -> Result:
    """Run an item; return its figures, also of an item that failed or took too long."""
    place.logs.mkdir(parents=True, exist_ok=True)
    name = item.name.replace(" ", "_")
    lines, log = place.logs / f"{name}.jsonl", place.logs / f"{name}.log"
    lines.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"{__package__}.items", item.name, f"--lines={lines}"]
    started = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, f"--seconds={limit - GRACE}", *place.further],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its own processes end with it
        )
        outcome = _outcome(process, limit, log)
    seconds = time.monotonic() - started
    result = Result.of(item.name, place.machine, item.version, seconds, outcome)
    return replace(result, figures=read_lines(lines))


def _outcome(process: subprocess.Popen[bytes], limit: float, log: Path) -> str:
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"out of time after {limit:.0f} s"
    finally:
        _end(process)
    if status == 0:
        return DONE
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    return f"failed: {''.join(last)[:300]}" if last else f"failed with status {status}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
