"""Counting what makes the processor wait for a GPU, without a GPU."""

from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from lightning_modules.kernels.replay import waits_for_device

SILENT = {Tensor.cpu, Tensor.tolist}
"""Functions that copy to the processor; for a tensor on a CPU they call no operator."""


class HostWaits(TorchDispatchMode):
    """Counts waits for a GPU within a block; tensors may lie on any device, a CPU included.

    A tensor on a CPU counts as on a GPU, but for a copy by ``to``. So ``tolist`` and ``item`` of
    the processor's own tensors count too; numbers in arrays and lists do not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.where: list[str] = []  # names of the operators and functions that wait, in their order
        self._functions = _SilentCopies(self.where)

    @property
    def count(self) -> int:
        """Number of waits so far."""
        return len(self.where)

    def __enter__(self) -> "HostWaits":
        super().__enter__()
        self._functions.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._functions.__exit__(*error)
        super().__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if waits_for_device(func, args, kwargs):
            self.where.append(str(func))
        return func(*args, **kwargs)


class _SilentCopies(TorchFunctionMode):
    def __init__(self, where: list[str]) -> None:
        self._where = where

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in SILENT and args[0].is_cpu:
            self._where.append(f"Tensor.{func.__name__}")
        return func(*args, **(kwargs or {}))
