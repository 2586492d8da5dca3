"""Hostile texts, from a corpus to the page: escaped, in bounded memory, never run."""

import random
from html.parser import HTMLParser
from pathlib import Path

from tests.drill.commands import SETTINGS, Ended, Part, command, shared

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
    "\x00nul",
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


def drill(space: Path, count: int, draw: random.Random) -> Part:
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
        "-m",
        "model=seq2seq,transformer",
        f"hydra.sweep.dir={space}/comparison",
        *settings,
        "data=text",
        f"data.root={root}",
        "data.source=en",
        "data.target=fr",
        "data.skip_empty=true",
        "data.train_max_words=100",
        "data.test_max_words=100",
        "batching.max_tokens=30000",
        "batching.decode_max_tokens=30000",
        *shared(space),
        "logger=none",
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
    """Evaluate a line of 10 MB, a million empty lines and bytes that are no UTF-8."""
    reference = space / "reference"
    wrong = []
    for name, content in (
        ("long", b"x" * LONG + b"\n"),
        ("empty", b"\n" * EMPTY),
        ("bytes", b"\xff\xfe\x00bad\n"),
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
