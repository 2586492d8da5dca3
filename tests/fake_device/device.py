"""A device named ``accel`` whose tensors have shapes and types, but no numbers.

A build of torch without CUDA refuses ``cuda`` also for such tensors. Torch's device for extensions,
renamed, is allowed. Nothing can be read from it: ``item``, ``tolist``, ``nonzero`` and masks raise
an error, and copies that wait are counted. The whole process has this device from ``register`` on.
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

from lightning_modules.kernels.rnn import RnnOutput
from lightning_modules.variants.recurrent import cells, encoder
from lightning_modules.variants.recurrent.cells import gru_state

NAME = "accel"
DEVICES = 2
COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


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
    cells.run_stack = _run_stack


class Copies(TorchDispatchMode):
    """Count the copies between CPU and device for which the processor waits.

    A copy to the CPU always waits; a copy to the device does unless it is ``non_blocking``.
    """

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and count it if it is such a copy."""
        result = func(*args, **(kwargs or {}))
        if func in COPIES:
            source, *others = [arg for arg in args if isinstance(arg, Tensor)]
            source = others[0] if others else source  # copy_ takes its source second
            goes_on = (kwargs or {}).get("non_blocking", False) or True in args[2:]
            moves = (source.device.type, result.device.type) in ((NAME, "cpu"), ("cpu", NAME))
            self.count += moves and not (goes_on and result.device.type == NAME)
        return result


@contextmanager
def without_numbers(device: str = f"{NAME}:0") -> Iterator[Copies]:
    """Make new tensors fake ones on ``device``; yield the count of copies that wait."""
    with FakeTensorMode(allow_non_fake_inputs=True), Copies() as copies, torch.device(device):
        yield copies


def _run_packed(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> RnnOutput:
    """Stand for packed sequences, whose number of tokens a fake device does not know."""
    assert lengths.device.type == "cpu"
    return _run_stack(rnn, inputs, None, inputs.new_zeros(()), None)


def _run_stack(
    rnn: nn.LSTM | nn.GRU, inputs: Tensor, sizes: Tensor | None, hidden: Tensor, cell: Tensor | None
) -> RnnOutput:
    """Stand for a call of cuDNN: right shapes, and a gradient for every input and weight."""
    directions = 2 if rnn.bidirectional else 1
    given = [inputs, hidden, *rnn.parameters(), *([] if cell is None else [cell])]
    touched = sum(part.sum() for part in given)
    states = touched + inputs.new_zeros(*inputs.shape[:2], directions * rnn.hidden_size)
    last = touched + inputs.new_zeros(rnn.num_layers * directions, len(inputs), rnn.hidden_size)
    return RnnOutput(states, last, last.clone() if isinstance(rnn, nn.LSTM) else None)


def _move(parameter: Any, moved: Any) -> None:
    """Stand for the exchange of two tensors by which torch moves the parameters of a module."""
    parameter.fake_device = moved.fake_device


def _gru_cell(inputs: Tensor, hidden: Tensor, *weights: Tensor) -> Tensor:
    from_inputs = nn.functional.linear(inputs, weights[0], weights[2])
    return gru_state(from_inputs, nn.functional.linear(hidden, weights[1], weights[3]), hidden)
