"""Functions that are recorded once and then replayed, on a GPU as CUDA graphs.

A GPU computes most operators of a small model, or of a single step, faster than the processor
starts them, and then waits for the next. A CUDA graph starts all of them at once.

A recording repeats its operators on the same memory, with the same numbers of Python. So a function
can be recorded if nothing in it depends on the values of tensors: it reads no number from the
device, and its operators and their shapes are always the same. ``CapturableOperators`` finds what
breaks this rule before a recording does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override

T = TypeVar("T")
aten = torch.ops.aten
HOST_READS = {
    aten._local_scalar_dense,  # item, int(tensor), float(tensor), bool(tensor)
    aten.equal,
    aten.is_nonzero,
    aten.nonzero,
    aten.masked_select,
    aten._unique,
    aten._unique2,
    aten.unique_dim,
    aten.unique_consecutive,
}
"""Operators whose result, or the size of whose result, the processor must know."""
INDEXING = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}


class Recording(NamedTuple, Generic[T]):
    """A recorded function."""

    replay: Callable[[], object]  # computes the tensors of `result` anew
    result: T


class Recorder(ABC):
    """Records functions whose recordings share memory.

    Only one recording is replayed at a time, and its result is used, or copied, before the next: a
    replay may write over the results of other recordings.
    """

    @abstractmethod
    def warm_up(self, run: Callable[[], T]) -> T:
        """Run a function as it will be recorded, so that its kernels are there; return its result.

        Every function is run once before it is recorded, with the shapes of the recording.
        """

    @abstractmethod
    def record(self, run: Callable[[], T]) -> Recording[T]:
        """Record a function without computing its result; raises what the function raises."""


class CudaGraphs(Recorder):
    """Records functions as CUDA graphs on one device, with one pool of memory.

    A pool grows least if the function that needs most memory is recorded first. A recording that
    fails leaves the recordings before it useless: random draws start from a new state.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pool: Any = torch.cuda.graph_pool_handle()

    @override
    def warm_up(self, run: Callable[[], T]) -> T:
        # Autograd remembers the stream on which a gradient was first computed: all must be alike.
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream), own_casts():
            result = run()
        current.wait_stream(self._stream)
        return result

    @override
    def record(self, run: Callable[[], T]) -> Recording[T]:
        graph = torch.cuda.CUDAGraph()
        # Threads of the feed allocate pinned memory meanwhile, which other modes do not allow.
        capture = torch.cuda.graph(
            graph, self._pool, self._stream, capture_error_mode="thread_local"
        )
        # A capture that fails does not go back to the stream before it.
        with torch.cuda.stream(torch.cuda.current_stream(self._device)), own_casts():
            try:
                with capture:
                    result = run()
            except BaseException:
                self._renew_generator()
                raise
        return Recording(graph.replay, result)

    def _renew_generator(self) -> None:
        """Give the device's generator a state that does not wait for the end of a capture."""
        fresh = torch.Generator(self._device)
        default = torch.cuda.default_generators[self._stream.device_index]
        default.graphsafe_set_state(fresh.graphsafe_get_state())


@contextmanager
def own_casts() -> Iterator[None]:
    """Let autocast cast the weights within the block anew, and forget these casts at its end.

    Autocast keeps casts of weights. A recording that used the casts of an earlier run would not
    cast the weights itself, and would use old weights after the next update.
    """
    torch.clear_autocast_cache()
    try:
        yield
    finally:
        torch.clear_autocast_cache()


class Recorded(Generic[T]):
    """A function of tensors, recorded for arguments of one shape.

    A call copies its arguments, replays the function and returns its result: the same tensors each
    time. The function must have been warmed up with these shapes.
    """

    def __init__(
        self, recorder: Recorder, function: Callable[..., T], inputs: Sequence[Tensor]
    ) -> None:
        self._inputs = [tensor.clone() for tensor in inputs]
        self._recording = recorder.record(lambda: function(*self._inputs))

    def __call__(self, *inputs: Tensor) -> T:
        """Replay the function with these arguments."""
        for static, tensor in zip(self._inputs, inputs, strict=True):
            static.copy_(tensor, non_blocking=True)
        self._recording.replay()
        return self._recording.result


class NotCapturableError(RuntimeError):
    """No CUDA graph can record an operator, or tensors that change their shapes or types."""


class CapturableOperators(TorchDispatchMode):
    """Raises ``NotCapturableError`` within the block for an operator that cannot be recorded.

    After a capture has failed, a process may be unable to go on; after this error it is as before.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if waits_for_device(func, args, kwargs) or copies_from_host(func, args, kwargs):
            name = str(func).removeprefix("aten.")
            raise NotCapturableError(f"{name} reads a number from the device, or sends one to it")
        return func(*args, **kwargs)


def waits_for_device(func: Any, args: Any, kwargs: Any) -> bool:
    """Return whether an operator makes the processor wait for the device of its tensors."""
    packet = func.overloadpacket
    if packet in INDEXING:
        return any(index is not None and index.dtype == torch.bool for index in args[1])
    if packet is aten.repeat_interleave:  # the operator with a tensor of counts
        return kwargs.get("output_size") is None
    if packet is aten._to_copy:
        target = kwargs.get("device")
        return target is not None and target.type == "cpu" and not args[0].is_cpu
    if packet is aten.copy_:
        return args[0].is_cpu and not args[1].is_cpu
    return packet in HOST_READS


def copies_from_host(func: Any, args: Any, kwargs: Any) -> bool:
    """Return whether an operator copies a tensor of the processor to another device."""
    packet = func.overloadpacket
    if packet is aten._to_copy:
        target = kwargs.get("device")
        return target is not None and target.type != "cpu" and args[0].is_cpu
    return packet is aten.copy_ and args[1].is_cpu and not args[0].is_cpu
