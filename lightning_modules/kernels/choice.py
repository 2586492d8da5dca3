"""Which kernels a process computes with: one policy, by settings, device and what a model offers.

``kernels=auto`` takes the fastest on a CUDA GPU, and PyTorch's own elsewhere; ``kernels=plain``
takes PyTorch's own everywhere, to look for a mistake; ``kernels=flash`` also takes the kernels of
flash-linear-attention for linear recurrences. ``packed``, ``capture``, ``compile`` decide
one path each, in place of the policy. Nothing is timed here, so that the same command chooses the
same kernels on every machine with such a device.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from datamodules.errors import UserError

KernelSetting = Literal["auto", "plain", "flash"]
WITH_GRAPHS = ("reduce-overhead", "max-autotune")
"""Modes of ``torch.compile`` that capture CUDA graphs themselves."""
LARGE_UPDATE = 2e12
"""FLOPs of an update from which the GPU, not the launch of its kernels, takes the time: about 5 ms
of an H100. Below, compiling the layers would cost a small training more time than it saves."""


class Kernels(NamedTuple):
    """The kernels of a process; the defaults are PyTorch's own."""

    rows: bool = False  # Triton's kernels of rows: the loss, additive attention, best tokens
    packed: bool = False  # a Transformer trains on packed sentences, without padding
    capture: bool = False  # an update is replayed as one CUDA graph for each shape of a batch
    captured_search: bool = False  # and so is a step of a search
    flash: bool = False  # linear recurrences of whole sentences by flash-linear-attention
    compiled: str | None = None  # mode of `torch.compile` for the blocks of a model


DEVICE_OF_TRITON = "cuda"  # tests change it, to interpret kernels on a CPU
TYPES_OF_ROWS = (torch.float32, torch.bfloat16, torch.float16)
"""Types of the numbers of Triton's kernels, which compute in float32."""
PLAIN = Kernels()
_in_use = PLAIN
_equations_alone = False
WORDS = {
    "rows": "rows",
    "packed": "packed sentences",
    "capture": "captured updates",
    "captured_search": "captured search",
    "flash": "flash-linear-attention",
}
"""Kernels in records, conditions and the log, by their names in ``Kernels``."""


class KernelSettings(NamedTuple):
    """The settings that decide; None where the policy does."""

    kernels: KernelSetting = "auto"
    packed: bool | None = None
    capture: bool | None = None
    compile: str | None = "auto"  # `auto`, a mode, or None for no compilation


class Work(NamedTuple):
    """What the kernels of a training must fit, besides its device."""

    compiles: bool  # whether the model has layers that gain from `torch.compile`
    flops: float  # FLOPs of an update, about
    against_packing: str | None = None  # why updates cannot be packed, in words
    against_capture: str | None = None  # why updates cannot be captured, in words


class Choice(NamedTuple):
    """The kernels of a training, and why others were not chosen."""

    kernels: Kernels
    reasons: Mapping[str, str]  # in words, by the names in `Kernels`

    def __str__(self) -> str:
        without = [f"no {WORDS[name]}: {reason}" for name, reason in self.reasons.items()]
        return "; ".join([describe_kernels(self.kernels), *without])


@cache
def has_triton() -> bool:
    """Return whether Triton is installed; torch for CUDA comes with it."""
    return find_spec("triton") is not None


@cache
def has_flash() -> bool:
    """Return whether flash-linear-attention is installed."""
    return find_spec("fla") is not None


def use_kernels(kernels: Kernels) -> None:
    """Compute with these kernels from now on."""
    global _in_use
    _in_use = kernels


def kernels_in_use() -> Kernels:
    """Return the kernels of this process."""
    return _in_use


@contextmanager
def equations_alone() -> Iterator[None]:
    """Compute what the equations ask for and nothing else, as FLOPs are counted.

    RNNs then have no input that says where padding is, for batches without padding. Linear
    recurrences go one position after the other: products within a chunk only save time.
    """
    global _equations_alone
    _equations_alone = True
    try:
        yield
    finally:
        _equations_alone = False


def only_equations() -> bool:
    """Return whether this is within ``equations_alone``."""
    return _equations_alone


def computes_by_rows(tensor: Tensor) -> bool:
    """Return whether Triton's kernels of rows compute with ``tensor``.

    Not in compiled code, and not on a second GPU of the process (``model.placement``): Triton runs
    kernels on the current one.
    """
    return (
        _in_use.rows
        and tensor.device.type == DEVICE_OF_TRITON
        and tensor.dtype in TYPES_OF_ROWS
        and not torch.compiler.is_compiling()
        and (tensor.is_cpu or tensor.get_device() == torch.cuda.current_device())
    )


def describe_kernels(kernels: Kernels) -> str:
    """Return kernels in words, for records and conditions; ``plain`` for PyTorch's own."""
    named = [words for name, words in WORDS.items() if getattr(kernels, name)]
    if kernels.compiled is not None:
        named.append(f"compiled ({kernels.compiled})")
    return ", ".join(named) or "plain"


def kernels_of_search(asked: KernelSetting, device: torch.device) -> Kernels:
    """Return the kernels of a test, which only searches.

    Raises ``UserError`` for ``flash`` without a CUDA GPU or without the library.
    """
    if asked == "flash" and device.type != "cuda":
        raise UserError("kernels=flash: needs a CUDA GPU; set kernels=auto")
    if asked == "flash" and not has_flash():
        raise UserError(
            "kernels=flash: needs flash-linear-attention; pip install 'attention-bench[linear]', "
            "or set kernels=auto"
        )
    if asked == "plain" or device.type != "cuda":
        return PLAIN
    return Kernels(rows=has_triton(), captured_search=True, flash=asked == "flash")


def kernels_of_training(asked: KernelSettings, device: torch.device, work: Work) -> Choice:
    """Return the kernels of a training and of its searches.

    Raises ``UserError`` for settings that do not fit together, the device, or the training.
    """
    _check_together(asked)
    against = {"packed": work.against_packing, "capture": work.against_capture}
    if device.type != "cuda":
        against = dict.fromkeys(against, "needs a CUDA GPU")
    elif against["capture"] is None and asked.compile in WITH_GRAPHS:
        against["capture"] = f"compile={asked.compile} captures CUDA graphs itself"
    elif against["capture"] is None and asked.kernels == "flash":
        against["capture"] = "kernels=flash chooses among kernels while it runs"
    for name, reason in against.items():
        if getattr(asked, name) and reason is not None:
            raise UserError(f"{name}=true: {reason}; leave it out, or set {name}=null")
    base = kernels_of_search(asked.kernels, device)
    if base == PLAIN:
        return Choice(PLAIN._replace(compiled=_mode(asked.compile)), {})
    reasons = {name: reason for name, reason in against.items() if reason is not None}
    reasons |= {name: f"{name}=false" for name in against if getattr(asked, name) is False}
    if not base.rows:
        reasons["rows"] = "Triton is not installed"
    compiled = _mode(asked.compile)
    if asked.compile == "auto" and work.compiles and work.flops >= LARGE_UPDATE:
        compiled = "default"
    packed, capture = (name not in reasons for name in ("packed", "capture"))
    return Choice(base._replace(packed=packed, capture=capture, compiled=compiled), reasons)


def _mode(asked: str | None) -> str | None:
    return None if asked == "auto" else asked


def _check_together(asked: KernelSettings) -> None:
    """Raise ``UserError`` for settings that contradict one another on any device."""
    for name in ("packed", "capture"):
        if asked.kernels == "plain" and getattr(asked, name):
            raise UserError(
                f"kernels=plain: takes PyTorch's own kernels alone; leave out {name}=true, or set "
                "kernels=auto"
            )
    if asked.capture and asked.compile in WITH_GRAPHS:
        raise UserError(
            f"compile={asked.compile}: captures CUDA graphs itself; leave out capture=true, or set "
            "compile=default"
        )
