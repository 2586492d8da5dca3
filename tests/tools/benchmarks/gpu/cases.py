"""The cases that are measured, and the file of their figures, to which several starts append."""

import json
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torch import nn

from tests.tools.benchmarks.workloads import WORKLOADS, overrides_at

Size = Literal["laptop", "published"]
SIZES: tuple[Size, ...] = ("published", "laptop")
PRECISIONS = ("bf16", "float32")
FILES: dict[str, dict[Size, str]] = {
    "Transformer": {"laptop": "transformer", "published": "transformer_base"},
    "RNNsearch": {"laptop": "bahdanau", "published": "rnnsearch"},
    "Luong, global": {"laptop": "luong_global", "published": "luong_global_dot"},
    "Luong, local": {"laptop": "luong_local", "published": "luong_local_m"},
    "no attention": {"laptop": "seq2seq", "published": "rnnencdec"},
}
"""Headline variants: the file of ``conf/model`` for each size."""
LOOPS = {
    "one layer, additive": "additive, previous state",
    "one layer, general": "general, input feeding",
}
"""RNNsearch and Luong's model with one layer of LSTM units: ``BareRnn`` is the same model. Each is
a workload of ``make benchmark``."""
WIDTHS: dict[Size, int] = {"laptop": 256, "published": 1000}


class Load(NamedTuple):
    """Batches and time of a measurement."""

    vocabulary: int
    tokens: int
    """Most padded tokens of a side in a training batch."""
    decode_tokens: int = 25_000
    pairs: int = 60_000
    """Number of training pairs; the time ends before the first epoch."""
    sentences: int = 2_000
    """Number of sentences that are translated."""
    windows: int = 3


LOADS: dict[Size, Load] = {
    "laptop": Load(vocabulary=10_000, tokens=4_096),
    "published": Load(vocabulary=32_000, tokens=25_000),
}


class Case(NamedTuple):
    """A case: one model at one size and precision, and what is measured of it."""

    variant: str
    """Key of ``FILES`` or of ``LOOPS``."""
    size: Size
    work: Literal["train", "plain", "decode"]
    """``plain`` is the training of ``BareRnn``."""
    precision: str
    compiled: bool = False

    def __str__(self) -> str:
        compiled = ", compiled" * self.compiled
        return f"{self.work}: {self.variant}, {self.size}, {self.precision}{compiled}"

    @property
    def overrides(self) -> list[str]:
        """The overrides of the model; one vocabulary, as ``model.tied=all`` needs."""
        if self.variant in LOOPS:
            model = overrides_at(LOOPS[self.variant], WIDTHS[self.size])
        else:
            model = [f"model={FILES[self.variant][self.size]}"]
        return [*model, "tokenizer.shared=true"]

    def plain_model(self, vocabulary: int) -> nn.Module:
        """Build the same model in plain PyTorch, for a case of ``LOOPS``."""
        return WORKLOADS[LOOPS[self.variant]].bare(vocabulary, width=WIDTHS[self.size])


def all_cases() -> list[Case]:
    """Return all measurements: published sizes in bf16 first, and what is compiled last."""
    found = []
    for precision, size in product(PRECISIONS, SIZES):
        for name in LOOPS:
            found += [Case(name, size, "plain", precision), Case(name, size, "train", precision)]
        for name in FILES:
            found += [Case(name, size, "train", precision), Case(name, size, "decode", precision)]
        found += [Case(name, size, "train", precision, True) for name in (*LOOPS, *FILES)]
    return found


class Machine(NamedTuple):
    """What the figures depend on besides the case."""

    gpu: str
    torch: str
    code: str
    """Version of the code that trains."""


Figures = dict[Case, dict[str, Any]]


def append_figures(file: Path, machine: Machine, case: Case, figures: dict[str, Any]) -> None:
    """Append the figures of a case in one piece; the line is whole or, after a crash, ignored."""
    line = json.dumps({"machine": machine, "case": case, "figures": figures})
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(f"\n{line}\n".encode())  # begins a line of its own behind half a line


def read_figures(file: Path, machine: Machine) -> Figures:
    """Return the figures of a machine; half-written lines do not count."""
    found: Figures = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
        with suppress(ValueError):
            record = json.loads(line)
            if Machine(*record["machine"]) == machine:
                found[Case(*record["case"])] = record["figures"]
    return found
