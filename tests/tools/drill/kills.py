"""Kills, full disks, clocks set back: the same command, given again, ends as if unhindered."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tests.tools.drill.commands import SETTINGS, Ended, Part, command, shared, start, training


class Work(NamedTuple):
    """A command that is killed, and what its two ends must share."""

    arguments: Callable[[Path], list[str]]
    result: Callable[[Path], Any]


def run_result(folder: Path) -> dict[str, str]:
    """Return what two equal trainings share: weights, data order, scores and translations."""
    weights = {}
    for name in ("last", "best"):
        file = folder / "checkpoints" / f"{name}.ckpt"
        state = torch.load(file, weights_only=True)["state_dict"]
        content = b"".join(state[key].numpy().tobytes() for key in sorted(state))
        weights[name] = sha256(content).hexdigest()
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return {
        **weights,
        "order": result["training"]["data_order"],
        "scores": json.dumps(result["scores"]),
        "translations": (folder / "predictions.jsonl").read_text(encoding="utf-8"),
    }


def _test(space: Path) -> list[str]:
    given = [*SETTINGS, *shared(space), "logger=none"]
    read_by_training = ("val_sentences", "budget", "trainer", "callbacks", "scale")
    kept = [each for each in given if not each.startswith(read_by_training)]
    kept.remove("logger=none")
    return [
        "task=test", f"checkpoint={space.parent}/trained", f"hydra.run.dir={space}/test", *kept,
    ]  # fmt: skip


def _comparison(space: Path) -> list[str]:
    return [
        *("-m", "model=seq2seq,bahdanau", f"hydra.sweep.dir={space}/comparison"),
        *SETTINGS, *shared(space), "logger=none",
    ]  # fmt: skip


def _report(space: Path) -> list[str]:
    return ["task=report", f"runs={space}/comparison", "logger=none"]


def _study(space: Path) -> list[str]:
    return [
        *("sweep=recurrent", "model=seq2seq", "sweep.name=killed", "sweep.trials=2"),
        *("sweep.heartbeat_seconds=1", *SETTINGS, *shared(space), "logger=none"),
    ]  # fmt: skip


def _table(space: Path) -> str:
    return (space / "comparison" / "tables" / "scores.csv").read_text(encoding="utf-8")


def _trials(space: Path) -> list[tuple[str, bool]]:
    """Return the slots of a study, and whether each was trained."""
    folders = sorted((space / "outputs" / "studies" / "killed").glob("trials/*"))
    return [
        (folder.name, (folder / "seed-1" / "checkpoints" / "best.ckpt").is_file())
        for folder in folders
    ]


def _prepared(space: Path) -> bytes:
    [file] = (space / "cache").glob("*/train.target.tokens.npy")
    return file.read_bytes()


WORKS = {
    "train": Work(
        lambda space: training(space / "run", space), lambda space: run_result(space / "run")
    ),
    "preparation": Work(
        lambda space: [*training(space / "run", space), "data.train_size=3000"], _prepared
    ),
    "test": Work(
        _test, lambda space: (space / "test" / "predictions.jsonl").read_text(encoding="utf-8")
    ),
    "comparison": Work(_comparison, _table),
    "report": Work(_report, _table),
    "study": Work(_study, _trials),
}


def kill_commands(space: Path, count: int, draw: random.Random) -> Part:
    """Kill ``count`` commands, each kind of work in turn, after random times."""
    trained = command(training(space / "trained", space), space / "trained.out")
    assert trained.status == 0, str(trained)
    expected, longest = {}, {}
    names = list(WORKS)[: max(count, 1)]
    for name in names:
        place = space / f"{name}-whole"
        _prepare(name, place)
        ended = command(WORKS[name].arguments(place), space / f"{name}.out")
        assert ended.status == 0, f"{name}: {ended}"
        expected[name], longest[name] = WORKS[name].result(place), ended.seconds
    times = [(names[number % len(names)], draw.uniform(0.2, 1.0)) for number in range(count)]

    def interrupt(number: int) -> tuple[bool, str | None]:
        """Kill a command and give it again; return whether it was killed, and what is wrong."""
        name, share = times[number]
        place, out = space / f"{name}-{number}", space / f"{number}.out"
        _prepare(name, place)
        killed = _killed(WORKS[name].arguments(place), out, share * longest[name])
        ended = command(WORKS[name].arguments(place), out)
        same = ended.status == 0 and WORKS[name].result(place) == expected[name]
        return killed, None if same else f"{name} killed after {share:.0%} of its time: {ended}"

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(interrupt, range(count)))
    kills = sum(killed for killed, _ in ends)
    wrong = [line for _, line in ends if line is not None]
    return Part(count, wrong, f"{kills} commands were killed before their end")


def _prepare(name: str, place: Path) -> None:
    place.mkdir()
    if name == "report":
        shutil.copytree(place.parent / "comparison-whole" / "comparison", place / "comparison")


def _killed(arguments: list[str], out: Path, seconds: float) -> bool:
    """Kill a command and its processes; return whether the command was still running."""
    process = start(arguments, out)
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    running = process.poll() is None
    if running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return running


LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
"""The library of Debian's package ``libfaketime``."""
SHIFTS = ("-1d", "-10y", "+2d", "-1h")


def shift_clocks(space: Path, count: int, draw: random.Random) -> Part:
    """Kill a training and go on with another clock."""
    if not LIBRARIES:
        return Part(0, [], "libfaketime is not installed")
    whole = space / "whole"
    assert command(training(whole, space), space / "whole.out").status == 0
    expected, wrong = run_result(whole), []
    for number in range(count):
        shift = SHIFTS[number % len(SHIFTS)]
        folder = space / f"run-{number}"
        out = space / f"run-{number}.out"
        process = start(training(folder, space), out)
        while process.poll() is None and not (folder / "checkpoints" / "last.ckpt").is_file():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        faked = {"LD_PRELOAD": str(LIBRARIES[0]), "FAKETIME": shift}
        ended = command(training(folder, space), out, **faked)
        if ended.status or run_result(folder) != expected:
            wrong.append(f"clock {shift}: {ended}")
    return Part(count, wrong)


LEAST_KIB = 16
NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
"""Words that let an ordinary user mount a file system for one command."""


def fill_disks(space: Path, count: int, draw: random.Random) -> Part:
    """Train on file systems of random sizes, then go on with room."""
    try:
        subprocess.run([*NAMESPACE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return Part(0, [], "this machine lets no user mount a file system")
    whole = space / "whole"
    assert command(training(whole / "run", whole), space / "whole.out").status == 0
    expected = run_result(whole / "run")
    needed = sum(file.stat().st_size for file in whole.rglob("*") if file.is_file()) // 1024
    sizes = [draw.randrange(LEAST_KIB, needed) for _ in range(count)]

    def fill(number: int) -> tuple[bool, str | None]:
        """Train on a small disk, then with room; return whether refused, and what is wrong."""
        disk, kept = space / f"disk-{number}", space / f"kept-{number}"
        disk.mkdir()
        ended = _on_small_disk(disk, kept, sizes[number], space / f"{number}.out")
        refused = ended.refusal is not None and "No space left" in ended.refusal
        if ended.status != 0 and not refused:
            return False, f"{sizes[number]} KiB: {ended}"
        # With room, in the same place: paths are part of settings.
        shutil.rmtree(disk)
        shutil.move(kept, disk)
        again = command(training(disk / "run", disk), space / f"{number}-again.out")
        same = again.status == 0 and run_result(disk / "run") == expected
        return refused, None if same else f"{sizes[number]} KiB, then with room: {again}"

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(fill, range(count)))
    refusals = sum(refused for refused, _ in ends)
    wrong = [line for _, line in ends if line is not None]
    return Part(count, wrong, f"{refusals} of {count} refused, the others had room")


def _on_small_disk(disk: Path, kept: Path, kib: int, out: Path) -> Ended:
    """Train on a file system of ``kib``, and keep what was written."""
    script = (
        f"mount -t tmpfs -o size={kib}k none {shlex.quote(str(disk))} || exit 99; "
        f'"$@"; status=$?; cp -a {shlex.quote(str(disk))} {shlex.quote(str(kept))}; exit $status'
    )
    return command(training(disk / "run", disk), out, [*NAMESPACE, script, "sh"])
