"""A device named ``accel`` whose tensors have shapes and types, but no numbers.

A build of torch without CUDA refuses ``cuda`` also for such tensors. Torch's device for extensions,
renamed, is allowed. Nothing can be read from it: ``item``, ``tolist``, ``nonzero`` and masks raise
an error, and copies to the CPU are counted. The whole process has this device from ``register`` on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

from lightning_modules.variants.recurrent import encoder
from lightning_modules.variants.recurrent.cpu_rnn import RnnOutput
from lightning_modules.variants.recurrent.unrolled_cells import gru_state

NAME = "accel"
DEVICES = 2


class _Backend(_DummyBackendModule):
    def device_count(self) -> int:
        return DEVICES

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]


def register() -> None:
    """Add the device to torch, and replace the calls of cuDNN, which has no kernels for it."""
    _setup_privateuseone_for_python_backend(NAME, _Backend())
    encoder.run_packed = _run_packed
    torch.gru_cell = _gru_cell  # type: ignore[assignment]
    torch.utils.swap_tensors = _move
    nn.GRU.forward = nn.LSTM.forward = _run_padded  # type: ignore[assignment, method-assign]


class CopiesToCpu(TorchDispatchMode):
    """Count the copies of tensors from the device to the CPU: each waits for the device."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator; count it if the result lies on the CPU and an argument does not."""
        result = func(*args, **(kwargs or {}))
        moved = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
        if moved and args[-1 if func is torch.ops.aten.copy_.default else 0].device.type == NAME:
            self.count += result.device.type == "cpu"
        return result


@contextmanager
def without_numbers(device: str = f"{NAME}:0") -> Iterator[CopiesToCpu]:
    """Make new tensors fake ones on ``device``; yield the count of copies to the CPU."""
    with FakeTensorMode(allow_non_fake_inputs=True), CopiesToCpu() as copies, torch.device(device):
        yield copies


def _run_packed(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> RnnOutput:
    """Stand for packed sequences, whose number of tokens a fake device does not know."""
    assert lengths.device.type == "cpu"
    states, final = _run_padded(rnn, inputs)
    return RnnOutput(states, *(final if isinstance(final, tuple) else (final, None)))


def _run_padded(rnn: Any, inputs: Tensor, start: Any = None) -> Any:
    """Stand for a call of cuDNN: right shapes, and a gradient for every input and weight."""
    directions = 2 if rnn.bidirectional else 1
    started = start if isinstance(start, tuple) else () if start is None else (start,)
    touched = sum(part.sum() for part in (inputs, *started, *rnn.parameters()))
    states = touched + inputs.new_zeros(*inputs.shape[:2], directions * rnn.hidden_size)
    hidden = touched + inputs.new_zeros(rnn.num_layers * directions, len(inputs), rnn.hidden_size)
    return states, (hidden, hidden.clone()) if isinstance(rnn, nn.LSTM) else hidden


def _move(parameter: Any, moved: Any) -> None:
    """Stand for the exchange of two tensors by which torch moves the parameters of a module."""
    parameter.fake_device = moved.fake_device


def _gru_cell(inputs: Tensor, hidden: Tensor, *weights: Tensor) -> Tensor:
    from_inputs = nn.functional.linear(inputs, weights[0], weights[2])
    return gru_state(from_inputs, nn.functional.linear(hidden, weights[1], weights[3]), hidden)
