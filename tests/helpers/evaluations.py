"""``task=evaluate`` on small files, in this process."""

from tests.helpers.commands import in_process

QUICK = ["task=evaluate", "logger=none", "scoring.edges=[10,20,30]", "scoring.resamples=200"]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def evaluate(*arguments, out="out"):
    return in_process(*QUICK, f"hydra.run.dir={out}", *arguments)


FILES = ["references=ref", "sources=src"]
TWO = [*FILES, "systems.luong=luong1", "systems.none=none1"]
