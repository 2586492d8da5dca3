"""Planted tokens: no file, page or log of the whole drill may contain one."""

import random
from collections.abc import Iterator
from pathlib import Path

from tests.drill.commands import SETTINGS, TOKEN, Part, command, shared

CHUNK = 1 << 20


def drill(space: Path, count: int, draw: random.Random) -> Part:
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
