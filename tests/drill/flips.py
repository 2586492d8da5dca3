"""Flipped bytes in a run's files: refused by name, or harmless, never another result."""

import io
import random
import shutil
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import NamedTuple

from lightning_modules.runs.settings import group_files
from tests.drill.commands import Part
from tests.helpers.commands import TINY, in_process

READERS = {
    "translate": "task=translate checkpoint={run} input={text} output={out}/translated threads=1",
    "compare": "task=compare runs=[{run}] hydra.run.dir={out}/compared scoring.resamples=100 "
    "scoring.metrics=[bleu] logger=none",
}
"""Commands that read a run."""
UNREAD = [
    f"~{key}"
    for file in group_files()
    for key in file.values
    if key.startswith("report.sections.") and not key.endswith(".scores")
]
"""Overrides that leave out the sections of the report whose numbers the drill does not read."""
SOURCES = ["The young friend sees two gardens .", "A man worked ."]


class Flip(NamedTuple):
    """One flipped byte and the outcome of the commands that then read the file."""

    file: str
    place: int
    outcome: str
    """``refused``, ``harmless`` or ``wrong``."""


def drill(space: Path, count: int, draw: random.Random) -> Part:
    """Flip ``count`` bits of a trained run, one after the other, and read the run each time."""
    run = space / "run"
    place = [f"hydra.run.dir={run}", f"outputs={space}", f"cache_dir={space}/cache"]
    with redirect_stdout(io.StringIO()):
        assert in_process(*TINY, *place, "logger=none") == 0
    (space / "text").write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
    expected = _read(run, space / "expected", space / "text")
    files = sorted(file for file in run.rglob("*") if file.is_file() and file.stat().st_size)
    flips = [_flip(draw, draw.choice(files), run, space, expected) for _ in range(count)]
    wrong = [f"{flip.file}, byte {flip.place}: {flip.outcome}" for flip in flips
             if flip.outcome.startswith("wrong")]  # fmt: skip
    refused = sum(flip.outcome == "refused" for flip in flips)
    return Part(count, wrong, f"{refused} refused, the others changed nothing")


def _flip(
    draw: random.Random, file: Path, run: Path, space: Path, expected: dict[str, str]
) -> Flip:
    content = file.read_bytes()
    place, bit = draw.randrange(len(content)), 1 << draw.randrange(8)
    changed = bytearray(content)
    changed[place] ^= bit
    file.write_bytes(changed)
    out = space / "out"
    shutil.rmtree(out, ignore_errors=True)
    try:
        found = _read(run, out, space / "text")
    finally:
        file.write_bytes(content)
    name = str(file.relative_to(run))
    refusal = f"refused {name.removesuffix('.sha256')}"  # a digest is that of the file beside it
    wrong = [task for task in expected if found[task] not in (expected[task], refusal)]
    if wrong:
        return Flip(name, place, f"wrong: {wrong[0]}: {found[wrong[0]][:100]}")
    refused = any(result != expected[task] for task, result in found.items())
    return Flip(name, place, "refused" if refused else "harmless")


def _read(run: Path, out: Path, text: Path) -> dict[str, str]:
    """Return what each command finds, or ``refused FILE``."""
    out.mkdir(parents=True)
    found = {}
    for task, command in READERS.items():
        errors = io.StringIO()
        words = command.format(run=run, out=out, text=text).split()
        words += UNREAD if task == "compare" else []
        with redirect_stderr(errors), redirect_stdout(io.StringIO()):
            status = in_process(*words)
        if status:
            found[task] = _refused(errors.getvalue(), run)
        else:
            found[task] = _result(out, task)
    return found


def _refused(errors: str, run: Path) -> str:
    """Return the file that the one line of an error names; the errors if there are more lines."""
    lines = errors.splitlines()
    if len(lines) != 1 or not lines[0].startswith("error: "):
        return f"no single line: {errors}"
    files = [file for file in run.rglob("*") if file.is_file() and file.name in lines[0]]
    return f"refused {files[0].relative_to(run)}" if files else f"names no file: {lines[0]}"


def _result(out: Path, task: str) -> str:
    with suppress(FileNotFoundError):
        if task == "translate":
            return (out / "translated").read_text(encoding="utf-8")
        return (out / "compared" / "tables" / "scores.csv").read_text(encoding="utf-8")
    return "no result"
