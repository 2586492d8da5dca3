"""Counting how often the processor reads what a device computes, without a device."""

from collections import Counter
from typing import Any, Self

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
READS = {
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten.equal.default,
    aten._unique2.default,
    aten.unique_consecutive.default,
    aten.unique_dim.default,
    aten.repeat_interleave.Tensor,
    aten.is_nonzero.default,
}
"""Operators whose result the processor must know before it goes on."""
BY_INDEX = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default}
COPIES = {Tensor.tolist, Tensor.numpy, Tensor.cpu, Tensor.__array__}
"""Methods that copy a tensor to the processor; operators do not show it for a tensor there."""


class HostWaits:
    """Count the calls for which the processor would wait if the tensors were on a GPU.

    A context manager. An index list that is copied to the device is no wait.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """Waits by the name of the operator or method."""
        self._modes = _Operators(self.calls), _Methods(self.calls)

    @property
    def count(self) -> int:
        """Number of waits so far."""
        return self.calls.total()

    def __enter__(self) -> Self:
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)


class _Operators(TorchDispatchMode):
    def __init__(self, calls: Counter[str]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        by_mask = func in BY_INDEX and any(
            isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)
            for index in args[1]
        )
        if func in READS or by_mask:
            self.calls[str(func)] += 1
        return func(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):
    def __init__(self, calls: Counter[str]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in COPIES:
            self.calls[func.__name__] += 1
        return func(*args, **(kwargs or {}))
