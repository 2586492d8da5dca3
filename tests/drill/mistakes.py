"""Mistakes made from the table of settings, so that every new key is covered."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from lightning_modules.runs.settings import CONF, ValueType, flatten, group_files, settings
from tests.drill.commands import Ended, Part, command

WRONG = {
    "bool": "maybe", "int": "abc", "float": "abc", "text": "[1]", "name": "a/b", "path": "[1]",
    "paths": "{a: 1}", "list": "abc", "mapping": "abc", "class": "nonsense", "interval": "0",
}  # fmt: skip
"""A value of a wrong type, by kind."""
BEYOND = {"least": -1, "above": 0, "most": 1, "below": 0}
"""What to add to a limit for a value outside of it, by the name of the limit."""
SLOWEST = 1.5
"""Longest time of a refusal in seconds, with two commands at once on two cores."""
UNKNOWN_ARGUMENT = "takes no such argument"
"""Words of the refusals that need an import, of torch or of Lightning, which takes seconds."""
LAUNCHED = ("task", "comparison", "hydra", "outputs")
"""Settings that Hydra reads before the table does, and where the drill's commands write."""


class Mistake(NamedTuple):
    """A command with one mistake."""

    key: str
    """The setting that is wrong, which the error must name."""
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


def drill(space: Path, count: int, draw: random.Random) -> Part:
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
    seconds = sorted(each.seconds for each in ended if UNKNOWN_ARGUMENT not in each.errors)
    wrong += [
        f"{' '.join(mistake.arguments)}: took {each.seconds:.1f} s"
        for mistake, each in zip(drawn, ended, strict=True)
        if each.seconds > SLOWEST and UNKNOWN_ARGUMENT not in each.errors
    ]
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
