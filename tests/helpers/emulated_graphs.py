"""CUDA graphs on a CPU: operators are recorded, and replayed on the same tensors.

What a capture refuses is refused here, and what it bakes in (numbers of Python, arrays of numpy) is
baked in here: a replay is wrong where a replayed CUDA graph would be wrong. A recording computes
nothing either: it leaves NaN in its own tensors and other tensors as they were.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only
from typing_extensions import override

from lightning_modules.kernels.replay import (
    CapturableOperators,
    NotCapturableError,
    Recorder,
    Recording,
    own_casts,
)

T = TypeVar("T")
aten = torch.ops.aten


class EmulatedGraphs(Recorder):
    """Records functions of tensors on a CPU, as if the tensors were on a GPU."""

    def __init__(self, device: torch.device | None = None) -> None:
        self.operators: list[int] = []  # number of operators of each recording

    @override
    def warm_up(self, run: Callable[[], T]) -> T:
        with own_casts():
            return run()

    @override
    def record(self, run: Callable[[], T]) -> Recording[T]:
        operators = _Operators()
        with own_casts(), operators:
            result = run()
        operators.undo()
        self.operators.append(len(operators.calls))
        return Recording(operators.replay, result)


class _Operators(CapturableOperators):
    """The operators within a block, which also compute there."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[bool, Any, Any, Any, Any]] = []
        self._own: dict[int, Tensor] = {}  # tensors made within the block, by storage
        self._before: dict[int, tuple[Any, Any]] = {}  # other storages written to, and contents

    @override
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.overloadpacket is aten.lift_fresh:
            raise NotCapturableError("torch.tensor copies numbers of Python to the device")
        for tensor in written_by(func, args, kwargs):
            place, storage = place_of(tensor), tensor.untyped_storage()
            if place not in self._own and place not in self._before:
                self._before[place] = storage, storage.clone()
        # Aliases: an operator may change the shape of a tensor itself.
        given = tree_map_only(Tensor, aten.alias.default, (args, kwargs))
        result = super().__torch_dispatch__(func, types, args, kwargs)
        kept = tree_map_only(Tensor, aten.alias.default, result)
        self.calls.append((torch.is_grad_enabled(), func, *given, kept))
        places = {place_of(tensor) for tensor in tensors_in(given)}
        for tensor in tensors_in(kept):
            if place_of(tensor) not in places:
                self._own.setdefault(place_of(tensor), tensor)
        return result

    def replay(self) -> None:
        for trains, func, args, kwargs, result in self.calls:
            with torch.set_grad_enabled(trains):  # some operators keep more for a backward pass
                again = tensors_in(func(*args, **kwargs))
            for old, new in zip(tensors_in(result), again, strict=True):
                if place_of(old) != place_of(new):
                    assert old.shape == new.shape, (func, old.shape, new.shape)
                    old.copy_(new)

    @torch.no_grad()
    def undo(self) -> None:
        """Leave all tensors as a capture leaves them."""
        for storage, content in self._before.values():
            storage.copy_(content)
        for tensor in self._own.values():
            if tensor.is_floating_point():
                tensor.fill_(math.nan)


def tensors_in(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def place_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def written_by(func: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """Return the arguments that an operator writes to."""
    schema = func._schema.arguments
    named = {argument.name: value for argument, value in zip(schema, args, strict=False)} | kwargs
    written = [
        named.get(argument.name)
        for argument in schema
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return tensors_in(written)
