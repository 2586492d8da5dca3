"""Flipped bytes in a run's files, and hostile texts: refused by name, or harmless."""

import io
import random
import shutil
from contextlib import redirect_stderr, redirect_stdout, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from lightning_modules.runs.settings import group_files
from tests.helpers.commands import TINY, in_process
from tests.tools.drill.commands import SETTINGS, Ended, Part, command, shared

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
    outcome: str  # `refused`, `harmless` or `wrong`


def flip_bytes(space: Path, count: int, draw: random.Random) -> Part:
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
    for task, words in READERS.items():
        errors = io.StringIO()
        given = words.format(run=run, out=out, text=text).split()
        given += UNREAD if task == "compare" else []
        with redirect_stderr(errors), redirect_stdout(io.StringIO()):
            status = in_process(*given)
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


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<!-- <script> -->",
    "]]><svg/onload=alert(4)>",
    "{{ 7 * 7 }} {% raw %}",
    "${oc.env:HOME}",
    '" onmouseover="alert(5)',
    "' onfocus='alert(6)",
    "&lt;script&gt;",
    "javascript:alert(7)",
    "\u202eright to left\u202c",
    "\u2066isolated\u2069",
    "zero\u200bwidth\u200djoiner\ufeff",
    '=HYPERLINK("http://x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\u2028line\u2029paragraph",
    "a\x0bb\x0cc",
    "\x1b[31mred\x1b[0m",
    "a\rb",
    "e" + "\u0301" * 500,
    "👩‍👩‍👧‍👦 family",
    "𝕳𝖊𝖑𝖑𝖔",
    "שלום עולם",
    "%s %d %n {0} {name}",
    "\\u003cscript\\u003e",
    "../../etc/passwd",
    "<unk> <s> </s> <pad>",
    "@@ @@",
    "▁ ▁▁",
    "word " * 2000,
    "x" * 20_000,
    "!@#$%^&*()",
    '"quoted,""csv"',
    "<2fr> tag",
    "|||",
    "\u00a0",
]
"""Lines that some program takes for markup, a formula, a command or an end."""
LONG = 10_000_000
EMPTY = 1_000_000
MOST_MIB = 3000


class Page(HTMLParser):
    """The elements and attributes of a page that only hostile text could have made."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note handlers, images and drawings of the hostile lines."""
        bad = [name for name, value in attrs if name.startswith("on") and "alert" in (value or "")]
        if bad or (tag == "img" and ("src", "x") in attrs):
            self.found.append(f"<{tag} {bad}>")

    def handle_data(self, data: str) -> None:
        """Note scripts of the hostile lines."""
        if self.cdata_elem == "script" and data.strip().startswith("alert("):
            self.found.append(data[:40])


def write_hostile_texts(space: Path, count: int, draw: random.Random) -> Part:
    """Train on a corpus of ``count`` hostile lines, report on it, and give broken files."""
    lines = [_line(draw, number) for number in range(count)]
    root = space / "corpus"
    root.mkdir()
    usual = [f"a man sees {number} dogs ." for number in range(200)]
    for split in ("train", "val", "test"):
        for side in ("en", "fr"):
            content = usual + lines if split == "train" else lines
            (root / f"{split}.{side}").write_bytes("".join(f"{x}\n" for x in content).encode())
    own = ("data.train_size", "data.val_size", "data.test_size", "batching.max_tokens")
    settings = [each for each in SETTINGS if not each.startswith(own)]
    given = [
        *f"-m model=seq2seq,transformer hydra.sweep.dir={space}/comparison".split(),
        *f"data=text data.root={root} data.source=en data.target=fr data.skip_empty=true".split(),
        *["data.train_max_words=100", "data.test_max_words=100", "batching.max_tokens=30000"],
        *["batching.decode_max_tokens=30000", "logger=none"],
        *(*settings, *shared(space)),
    ]
    ended = command(given, space / "comparison.out")
    wrong = [] if ended.status == 0 else [f"corpus of hostile lines: {ended}"]
    if ended.status == 0:
        page = Page()
        page.feed((space / "comparison" / "report.html").read_text(encoding="utf-8"))
        wrong += [f"the page has {found}" for found in page.found]
    wrong += [f"{each}" for each in _files(space)]
    if ended.peak_mib > MOST_MIB:
        wrong.append(f"the comparison took {ended.peak_mib:,.0f} MiB")
    return Part(count, wrong, f"largest memory {ended.peak_mib:,.0f} MiB")


def _line(draw: random.Random, number: int) -> str:
    return HOSTILE[number] if number < len(HOSTILE) else " ".join(draw.sample(HOSTILE[:20], 2))


def _files(space: Path) -> list[str]:
    """Evaluate a line of 10 MB, a million empty lines, and bytes that are no UTF-8 text."""
    reference = space / "reference"
    wrong = []
    for name, content in (
        ("long", b"x" * LONG + b"\n"),
        ("empty", b"\n" * EMPTY),
        ("bytes", b"\xff\xfe\x00bad\n"),
        ("nul", b"a\x00nul\n"),
        ("nothing", b""),
    ):
        reference.write_bytes(content)
        out = space / f"evaluated-{name}"
        given = ["task=evaluate", f"references={reference}", f"systems.one={reference}"]
        given += [f"hydra.run.dir={out}", "logger=none", "scoring.resamples=100"]
        given += ["scoring.metrics=[bleu]", "scoring.unit=reference_words"]
        ended = command(given, space / f"{name}.out")
        if not _sound(ended, must_pass=name == "long"):
            wrong.append(f"file {name}: {ended}, {ended.peak_mib:,.0f} MiB")
    return wrong


def _sound(ended: Ended, must_pass: bool) -> bool:
    ended_well = ended.status == 0 if must_pass else ended.refusal is not None
    return ended_well and ended.peak_mib < MOST_MIB
