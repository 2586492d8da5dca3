"""Mistakes, closed folders, silent servers, equal commands at once, planted tokens."""

import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

from lightning_modules.runs.paths import CONF
from lightning_modules.runs.settings import ValueType, flatten, group_files, settings
from tests.helpers.commands import ROOT
from tests.tools.drill.commands import SETTINGS, TOKEN, Ended, Part, command, shared, training
from tests.tools.drill.kills import run_result

WRONG = {
    "bool": "maybe", "int": "abc", "float": "abc", "text": "[1]", "name": "a/b", "path": "[1]",
    "paths": "{a: 1}", "list": "abc", "mapping": "abc", "class": "nonsense", "interval": "0",
}  # fmt: skip
"""A value of a wrong type, by kind."""
BEYOND = {"least": -1, "above": 0, "most": 1, "below": 0}
"""What to add to a limit for a value outside of it, by the name of the limit."""
SLOWEST = 1.5  # longest time of a refusal in seconds, with two commands at once on two cores
LATE = "takes no such argument"
"""Words of the refusals that need an import, of torch or of Lightning, which takes seconds."""
LAUNCHED = ("task", "comparison", "hydra", "outputs")
"""Settings that Hydra reads before the table does, and where the drill's commands write."""


class Mistake(NamedTuple):
    """A command with one mistake."""

    key: str  # the setting that is wrong, which the error must name
    kind: str
    arguments: list[str]


def mistakes() -> Iterator[Mistake]:
    """Yield a mistake of every kind for every setting that a command can set."""
    for key, setting in settings().items():
        if key.startswith(LAUNCHED) or key.endswith(("_partial_", "_target_")):
            continue
        choice = _choice(key)
        if setting.is_group:
            if not setting.takes_further and not key.startswith("sweep"):
                group = key.partition(".")[0]
                yield Mistake(f"{key}.nonsense", "unknown child", [f"+{key}.nonsense=1"])
                if "." in key and group != key:
                    continue
            continue
        if choice is None:
            continue
        for kind, value in _wrong_values(setting.type):
            yield Mistake(key, kind, [*choice, f"++{key}={value}"])


def make_mistakes(space: Path, count: int, draw: random.Random) -> Part:
    """Give ``count`` mistakes, two commands at once: each ends in one line that names the key."""
    everything = list(mistakes())
    drawn = draw.sample(everything, min(count, len(everything)))

    def give(number: int) -> Ended:
        place = [f"outputs={space}/outputs"]
        return command([*place, *drawn[number].arguments], space / f"{number}.out")

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(give, range(len(drawn))))
    wrong = [
        f"{' '.join(mistake.arguments)}: {each}"
        for mistake, each in zip(drawn, ended, strict=True)
        if each.refusal is None or mistake.key.rpartition(".")[2] not in each.refusal
    ]
    early = [
        (each.seconds, mistake)
        for mistake, each in zip(drawn, ended, strict=True)
        if LATE not in each.errors
    ]
    wrong += [
        f"{' '.join(mistake.arguments)}: took {taken:.1f} s"
        for taken, mistake in early
        if taken > SLOWEST
    ]
    seconds = sorted(taken for taken, _ in early)
    wrong += [f"{file} was made" for file in (space / "outputs").glob("*/*")]
    middle = seconds[len(seconds) // 2]
    notes = f"median {middle:.2f} s, slowest {seconds[-1]:.2f} s; {len(everything)} kinds in all"
    return Part(len(drawn), wrong, notes)


def _wrong_values(type_: ValueType) -> Iterator[tuple[str, str]]:
    if type_.kind in WRONG:
        yield "wrong type", WRONG[type_.kind]
    for name, limit in type_.limits:
        beyond = limit + BEYOND[name]
        yield "out of range", str(beyond)
    if not type_.or_null and type_.kind != "any":
        yield "null", "null"
    if type_.choices and not type_.is_open:
        yield "no choice", "nonsense"


def _choice(key: str) -> list[str] | None:
    """Return the choice of a file that has a key, none for the default files; None for no file."""
    if key in _defaults():
        return []
    for file in group_files():
        if key in file.values and file.group not in ("comparison", "sweep"):
            return [f"{file.group}={file.name}"]
    return None


@cache
def _defaults() -> frozenset[str]:
    """Return the keys of the configuration that ``python run.py`` composes."""
    config = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
    chosen = {name: each for part in config["defaults"] if isinstance(part, dict)
              for name, each in part.items()}  # fmt: skip
    keys = set(flatten({k: v for k, v in config.items() if k != "defaults"}))
    for file in group_files():
        if chosen.get(file.group) == file.name:
            keys |= file.values.keys()
    return frozenset(keys)


NOBODY = "65534"
ORDINARY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
"""Words that give a command of root the rights of an ordinary user."""


def close_places(space: Path, count: int, draw: random.Random) -> Part:
    """Give ``count`` places that a command writes as folders that may only be read."""
    before = ORDINARY if os.geteuid() == 0 else []
    # Some systems let a user run a Python that the user may not look at; libraries look at it.
    probe = "import os, run, sys; os.stat(sys.executable)"
    if subprocess.run([*before, sys.executable, "-c", probe], cwd=ROOT, stderr=DEVNULL).returncode:
        return Part(0, [], "an ordinary user cannot read this checkout and its Python")
    with TemporaryDirectory(prefix="places-") as name:  # parents of ``space`` may be closed
        Path(name).chmod(0o755)
        return _refusals(Path(name), before, count, draw)


def _refusals(space: Path, before: list[str], count: int, draw: random.Random) -> Part:
    closed, opened = space / "closed", space / "open"
    for folder in (closed, opened):
        folder.mkdir()
    opened.chmod(0o777)
    closed.chmod(0o555)
    run = opened / "run"
    given = [*training(run, opened), "hydra.output_subdir=.hydra"]
    trained = command(given, space / "train.out", before, HOME=str(opened))
    if trained.status:
        return Part(1, [f"the training that the drill needs: {trained}"])
    (opened / "text").write_text("A man worked .\n")
    read = ["task=translate", f"checkpoint={run}", f"input={opened}/text", "threads=1"]
    cases = {
        "outputs": [*SETTINGS, f"outputs={closed}", f"cache_dir={opened}/cache", "logger=none"],
        "cache_dir": [*training(opened / "other", opened), f"cache_dir={closed}/cache"],
        "hydra.run.dir": training(closed / "run", opened),
        "output": [*read, f"output={closed}/translated"],
        "alignments": [*read, f"alignments={closed}/links"],
    }
    wrong = []
    for name in draw.sample(list(cases), count):
        arguments = cases[name]
        ended = command(arguments, space / f"{name}.out", before, HOME=str(opened))
        if ended.refusal is None or str(closed) not in ended.refusal:
            wrong.append(f"{name}: {ended}")
    return Part(count, wrong)


PATIENCE = 150.0  # longest time in seconds until a command has given up on a server
SLOW_DISK = """
import os, time
def _slowly(call):
    def slow(*arguments, **options):
        time.sleep(0.2)
        return call(*arguments, **options)
    return slow
os.fsync, os.replace, os.rename = map(_slowly, (os.fsync, os.replace, os.rename))
"""
"""``sitecustomize.py`` of a process whose disk is slow."""


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never answer; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def accept() -> None:
            while True:
                try:
                    kept.append(server.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


def hang_servers(space: Path, count: int, draw: random.Random) -> Part:
    """Let ``count`` of W&B, the disk and PostgreSQL hang."""
    wrong = [line for hang in (_wandb, _disk, _postgresql)[:count] if (line := hang(space))]
    return Part(count, wrong)


def _expected(space: Path) -> dict[str, str]:
    """Return what a training without hindrance ends with."""
    whole = space / "whole"
    assert command(training(whole, space), space / "whole.out").status == 0
    return run_result(whole)


def _wandb(space: Path) -> str | None:
    expected, folder = _expected(space), space / "tracked"
    arguments = training(folder, space)
    arguments.remove("logger=none")
    with silent_server() as port:
        online = {"WANDB_BASE_URL": f"http://127.0.0.1:{port}", "WANDB_API_KEY": "0" * 40}
        ended = command(arguments, space / "tracked.out", **online)
    same = ended.status == 0 and run_result(folder) == expected
    return None if same and ended.seconds < PATIENCE else f"W&B, {ended.seconds:.0f} s: {ended}"


def _disk(space: Path) -> str | None:
    expected, folder = _expected(space), space / "slow-run"
    (space / "slow").mkdir()
    (space / "slow" / "sitecustomize.py").write_text(SLOW_DISK)
    ended = command(training(folder, space), space / "slow.out", PYTHONPATH=str(space / "slow"))
    same = ended.status == 0 and run_result(folder) == expected
    return None if same else f"slow disk: {ended}"


def _postgresql(space: Path) -> str | None:
    with silent_server() as port:
        address = f"sweep.storage=postgresql://user@127.0.0.1:{port}/none"
        study = ["sweep=recurrent", address, *SETTINGS, *shared(space), "logger=none"]
        ended = command(study, space / "study.out")
    refused = ended.refusal is not None and ended.seconds < PATIENCE
    return None if refused else f"PostgreSQL, {ended.seconds:.0f} s: {ended}"


AT_ONCE = (2, 8)


def start_twins(space: Path, count: int, draw: random.Random) -> Part:
    """Start as many equal trainings in a folder as the first ``count`` numbers of ``AT_ONCE``."""
    wrong = []
    for commands in AT_ONCE[:count]:
        arguments = training(space / f"{commands}", space / f"cache-{commands}")
        with ThreadPoolExecutor(commands) as pool:
            outs = [space / f"{commands}-{twin}.out" for twin in range(commands)]
            ended = list(pool.map(lambda out, given=arguments: command(given, out), outs))
        failed = [str(each) for each in ended if each.status]
        wrong += [f"{commands} at once: {line}" for line in failed]
        waited = sum("finished before" in each.output for each in ended)
        if not failed and waited != commands - 1:
            wrong.append(f"{commands} at once: {commands - waited} trained")
    return Part(count, wrong)


CHUNK = 1 << 20


def search_tokens(space: Path, count: int, draw: random.Random) -> Part:
    """Give tokens in addresses and overrides, then search all files below the drill's folder."""
    address = f"postgresql://user:{TOKEN}@127.0.0.1:1/none"
    commands = {
        "study": ["sweep=recurrent", f"sweep.storage={address}", "sweep.trials=1"],
        "multirun": ["-m", "seed=1,2", f"sweep.storage={address}"],
        "option": ["--nonsense", f"sweep.storage={address}"],
        "training": [f"sweep.storage={address}"],
    }
    for name, arguments in commands.items():
        places = [f"outputs={space}/secret-{name}", *shared(space)[1:]]
        command([*SETTINGS, *arguments, *places, "logger=none"], space / name)
    files = [file for file in space.parent.rglob("*") if file.is_file()]
    return Part(len(files), [f"{file} contains the token" for file in _leaks(files)])


def _leaks(files: list[Path]) -> Iterator[Path]:
    wanted = TOKEN.encode()
    for file in files:
        with file.open("rb") as content:
            before = b""
            while piece := content.read(CHUNK):
                if wanted in before + piece:
                    yield file
                    break
                before = piece[-len(wanted) :]
