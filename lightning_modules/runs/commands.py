"""Commands that a user can copy from the terminal."""

import re
import shlex
from pathlib import Path

PLAIN = re.compile(r"[\w./:+~-]+")
"""Values that Hydra reads without quotes."""


def command(*overrides: str) -> str:
    """Return a command line, quoted for a shell."""
    return shlex.join(["python", "run.py", *overrides])


def quoted(path: Path) -> str:
    """Return a path as Hydra reads it after the name of an override."""
    text = str(path)
    if PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def next_steps(folder: Path) -> str:
    """Return a line for each command that goes on from a finished run."""
    run = quoted(folder)
    translate = command("task=translate", f"checkpoint={run}", "input=FILE", "output=FILE")
    compare = command("task=compare", f"runs=[{run},RUN_DIR]")
    return f"compare with another run: {compare}\ntranslate a file: {translate}"
