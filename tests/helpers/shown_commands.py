"""The commands of a page, run in short, and the output that the page shows."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.helpers.commands import BLOCK, ROOT

INSTALLATION = ("git clone", "make install", ". .venv/bin/activate")
"""Beginnings of lines that are not run: they download, and CI installs anyway."""
GAP = "…"
"""On a page: something is left out here."""
NUMBER = re.compile(r"[−+-]?\d+([,_]\d+)*(\.\d+)?(e[+-]\d+)?(:\d\d)*\*?")
"""A number, a time, or a score with the mark of a small group."""
FOLDER = re.compile(r"(\w+)-[0-9a-f]{8,12}\b")
"""A name with the first digits of a digest."""

Shorter = Callable[[Sequence[str]], Sequence[str]]
"""Returns the overrides that make a command with these arguments short."""


def read_page(page: Path) -> list[tuple[str, str]]:
    """Return the blocks of a page in their order: languages and contents."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def follow(page: Path, folder: Path, shorter: Shorter) -> list[str]:
    """Do in ``folder`` what a page says; return what it shows and the commands do not print.

    A block of Python whose first line is a comment with a file's name is that file. Lines of
    ``sh`` are run; a block of ``text`` shows what those of the block before it print.
    """
    absent, printed = [], ""
    for language, content in read_page(page):
        if language == "python":
            name = re.match(r"# (\S+\.py)\n", content)
            assert name, f"{page.name}: Python without the name of a file"
            (folder / name[1]).write_text(content, encoding="utf-8")
        elif language == "sh":
            printed = _run(_in_short(content, folder, shorter), folder)
        else:
            assert language == "text", f"{page.name}: a block of {language}"
            absent += missing(content, printed)
    return absent


def missing(shown: str, printed: str) -> list[str]:
    """Return the parts of ``shown`` between gaps that ``printed`` lacks, or has in another order.

    Numbers, digests and white space may differ, words may not.
    """
    left, absent = _form(printed), []
    for part in filter(None, (_form(part) for part in shown.split(GAP))):
        _, found, after = left.partition(part)
        if found:
            left = after
        else:
            absent.append(part)
    return absent


def _form(text: str) -> str:
    return " ".join(NUMBER.sub("0", FOLDER.sub(r"\1-0", text)).split())


def _in_short(block: str, folder: Path, shorter: Shorter) -> str:
    """Return the lines of a block that are run, with short trainings and today's folders."""
    lines = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith(INSTALLATION):
            continue
        if line.startswith("make "):
            line = _recipe(line.split()[1])
        line = FOLDER.sub(lambda name: _made(name, folder), line)
        given = re.search(r"python run\.py ([^#|]*)", line)
        if given:
            program = f"{sys.executable} {ROOT / 'run.py'}"
            more = " ".join(f"'{each}'" for each in shorter(given[1].split()))
            line = f"{line[: given.start()]}{program} {given[1]} {more}{line[given.end() :]}"
        lines.append(line)
    return "\n".join(lines)


def _recipe(target: str) -> str:
    """Return the command of a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(rf"^{target}:.*\n\t\$\(VENV\)/bin/(python run\.py .*)$", makefile, re.M)
    assert found, f"make {target}: has no command of run.py"
    return found[1]


def _made(shown: re.Match[str], folder: Path) -> str:
    """Return the name of the folder that a command made, in place of the page's."""
    found = sorted(path.name for path in folder.glob(f"outputs/*/{shown[1]}-*"))
    return found[0] if found else shown[0]


def _run(script: str, folder: Path) -> str:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "HYDRA"))
    }
    surroundings = {"NETRC": "/nonexistent", "COLUMNS": "80", "PYTHONPATH": f"{folder}:{ROOT}"}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=inherited | surroundings,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout
