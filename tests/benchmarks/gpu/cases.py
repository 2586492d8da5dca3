"""The cases that are measured; the cases that decide the aims come first."""

from itertools import product
from typing import Literal, NamedTuple

from torch import nn

from tests.benchmarks.workloads import WORKLOADS, overrides_at

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
OTHERS: dict[str, dict[Size, str]] = {
    "Luong, general": {"laptop": "luong_general", "published": "luong_global_general"},
    "Luong, concat": {"laptop": "luong_concat", "published": "luong_global_concat"},
    "Luong, location": {"laptop": "luong_location", "published": "luong_global_location"},
    "Luong, local-p": {"laptop": "luong_predictive", "published": "luong_local_p"},
    "reversed source": {"laptop": "seq2seq_reversed", "published": "sutskever2014"},
}
"""Variants that are measured after the headline variants."""
VARIANTS = FILES | OTHERS
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
    """Most padded tokens of a side in a training batch, for each GPU."""
    decode_tokens: int = 25_000
    pairs: int = 60_000
    """Number of training pairs for each GPU; the time ends before the first epoch."""
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
    """Key of ``VARIANTS`` or of ``LOOPS``."""
    size: Size
    work: Literal["train", "plain", "decode"]
    """``plain`` is the training of ``BareRnn``."""
    precision: str
    compiled: bool = False
    gpus: int = 1

    def __str__(self) -> str:
        compiled = ", compiled" * self.compiled
        gpus = f", {self.gpus} GPUs" if self.gpus > 1 else ""
        return f"{self.work}: {self.variant}, {self.size}, {self.precision}{compiled}{gpus}"

    @property
    def overrides(self) -> list[str]:
        """The overrides of the model; one vocabulary, as ``model.tied=all`` needs."""
        if self.variant in LOOPS:
            model = overrides_at(LOOPS[self.variant], WIDTHS[self.size])
        else:
            model = [f"model={VARIANTS[self.variant][self.size]}"]
        return [*model, "tokenizer.shared=true"]

    def plain_model(self, vocabulary: int) -> nn.Module:
        """Build the same model in plain PyTorch, for a case of ``LOOPS``."""
        return WORKLOADS[LOOPS[self.variant]].bare(vocabulary, width=WIDTHS[self.size])


def cases(gpus: int) -> list[Case]:
    """Return all measurements on a machine with ``gpus`` GPUs."""
    base = Case("Transformer", "published", "train", "bf16")
    loops = [case for loop in LOOPS for case in _of_loop(loop, "published", "bf16")]
    first = [
        *(base, base._replace(work="decode"), *loops, base._replace(compiled=True)),
        *([base._replace(gpus=gpus)] if gpus > 1 else []),
    ]
    first.sort(key=lambda case: case.compiled)  # to compile takes most of the time
    return list(dict.fromkeys([*first, *_all(gpus)]))


def _all(gpus: int) -> list[Case]:
    found: list[Case] = []
    for precision, size in product(PRECISIONS, SIZES):
        for compiled in (False, True):
            found += [Case(name, size, "train", precision, compiled) for name in FILES]
        found += [Case(name, size, "decode", precision) for name in FILES]
        found += [case for loop in LOOPS for case in _of_loop(loop, size, precision)]
        if (precision, size) == ("bf16", "published"):
            powers = [2**k for k in range(1, gpus.bit_length()) if 2**k < gpus]
            counts = [*powers, gpus] if gpus > 1 else []
            found += [
                Case(name, size, "train", precision, False, count)
                for count in reversed(counts)
                for name in FILES
            ]
    for precision, size in product(PRECISIONS, SIZES):
        for name in OTHERS:
            base = Case(name, size, "train", precision)
            found += [base, base._replace(compiled=True), base._replace(work="decode")]
    return found


def _of_loop(loop: str, size: Size, precision: str) -> list[Case]:
    ours = Case(loop, size, "train", precision)
    return [ours._replace(work="plain"), ours, ours._replace(compiled=True)]
