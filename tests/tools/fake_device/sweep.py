"""``python -m tests.tools.fake_device.sweep VARIANT…``: run variants on the fake device.

A process of its own, because the device stays in a process for good.
"""

import json
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils import clip_grad_norm_
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

from datamodules.batching import Batch, EncodedPairs, Sequences, collate
from lightning_modules.decoding import stepped
from lightning_modules.decoding.search import Backpointers, Ends, Request, Search
from lightning_modules.kernels.rnn import RnnOutput
from lightning_modules.variants import EmbeddedEncoderDecoder
from lightning_modules.variants.base import move
from lightning_modules.variants.recurrent import cells, encoder
from lightning_modules.variants.recurrent.cells import GruGates
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import small_model

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
    encoder.run_padded = _run_padded
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


def _run_padded(rnn: nn.LSTM | nn.GRU, inputs: Tensor, mask: Tensor) -> RnnOutput:
    """Stand for the calls of an encoder."""
    return _run_stack(rnn, inputs, mask.sum().to(inputs.dtype), None)


def _run_stack(
    rnn: nn.LSTM | nn.GRU, inputs: Tensor, hidden: Tensor, cell: Tensor | None
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
    return GruGates()(from_inputs, nn.functional.linear(hidden, weights[1], weights[3]), hidden)


Check = Callable[[EmbeddedEncoderDecoder, Batch], None]
PARTS = {"encoder": 0, "attention": 1, "decoder": 1}  # device of each part of a placed model
LENGTHS = [[5, 3, 9, 7], [4, 8, 2, 6]]


def batch_on_device() -> Batch:
    """Return a batch whose tensors are on the fake device and whose arrays are on the host."""
    sides = [Sequences.of([[4] * length for length in side]) for side in LENGTHS]
    batch: Batch = move(collate(EncodedPairs(None, *sides)), torch.device(NAME, 0))
    return batch


def loss_of(model: EmbeddedEncoderDecoder, batch: Batch) -> torch.Tensor:
    """Return the loss as the training computes it."""
    features = model.decode(model.encode(*batch.source), batch.tgt_in).features
    return model.loss(*batch.real_targets(features), 0.1)


def train(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
    """Make an update; every parameter gets a gradient on its own device."""
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    loss = loss_of(model.train(), batch)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, f"no gradient: {name}"
        assert parameter.grad.device == parameter.device
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def validate(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
    """Compute the loss without gradients."""
    with torch.no_grad():
        assert loss_of(model.eval(), batch).device == model.device


def force(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
    """Decode references, with the weights of all heads."""
    with torch.no_grad():
        memory = model.eval().encode(*batch.source)
        features, weights = model.decode(memory, batch.tgt_in)
        heads = model.head_weights(memory, batch.tgt_in)
    assert features.device == model.device
    assert (weights is None) == (heads is None)
    if weights is not None and heads is not None:
        assert weights.shape == (*batch.tgt_in.shape, batch.src.shape[1])
        assert heads.device == weights.device


def step(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
    """Decode three tokens, one by one."""
    with torch.no_grad():
        memory = model.eval().encode(*batch.source)
        state, token = model.initial_state(memory), batch.tgt_in[:, 0]
        for _ in range(3):
            features, state, _ = model.step(memory, state, token)
            token = model.logits(features).argmax(1)


def search_with(search: Search) -> Check:
    """Return the check of a search of three steps, whose host never asks what has ended."""

    def check(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
        going_on: list[Any] = [
            patch.object(stepped, "int", lambda _: 3, create=True),  # the longest limit
            patch.object(stepped, "removes_ended", lambda *_: False),
            patch.object(Ends, "by_sentence", lambda _: []),
        ]
        with torch.no_grad(), ExitStack() as stack:
            for part in going_on:
                stack.enter_context(part)
            memory = model.eval().encode(*batch.source)
            limits = torch.full((len(batch.src),), 3, device=model.device)
            request = Request(limits, *batch.source, None)
            assert search.search(model, memory, request, Backpointers()) == []

    return check


def resume(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
    """Load the state of an optimizer as a checkpoint holds it: on the CPU."""
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    loss_of(model.train(), batch).backward()
    optimizer.step()
    on_host = tree_map_only(torch.Tensor, lambda kept: kept.to("cpu"), optimizer.state_dict())
    again = torch.optim.Adam(model.parameters(), fused=True)
    again.load_state_dict(on_host)
    for parameter, state in again.state.items():
        assert {value.device for value in state.values()} == {parameter.device}
    again.step()


def load(model: EmbeddedEncoderDecoder, batch: Batch) -> None:
    """Load weights as a checkpoint holds them: on the CPU."""
    state = model.state_dict()
    before = {name: value.device for name, value in state.items()}
    model.load_state_dict({name: torch.zeros_like(state[name], device="cpu") for name in state})
    assert {name: value.device for name, value in model.state_dict().items()} == before


CHECKS: dict[str, Check] = {
    "load": load,
    "validate": validate,
    "force": force,
    "step": step,
    "greedy search": search_with(greedy_search()),
    "beam search": search_with(beam_search(beam_size=3)),
    "train": train,
    "resume": resume,
}
ON_TWO_DEVICES = ("load", "validate", "force", "step", "greedy search", "beam search")
"""Torch's backward pass has a queue for one device of an extension only."""
PLACED = [f"model.placement.{part}={NAME}:{number}" for part, number in PARTS.items()]
APART = "model.tied=none"  # two devices cannot share a table


def results_of(name: str, checks: Iterable[str], *overrides: str) -> dict[str, dict[str, Any]]:
    """Return for each check the copies that wait, or the error."""
    found: dict[str, dict[str, Any]] = {}
    with without_numbers() as copies:
        model, batch = small_model(name, *overrides), batch_on_device()
        for check in checks:
            copies.count = 0
            try:
                CHECKS[check](model, batch)
                found[check] = {"copies": copies.count}
            except Exception:  # the test shows the error
                found[check] = {"error": traceback.format_exc(limit=-4)[:2000]}
    return found


def main(names: list[str]) -> None:
    """Print the results of variants, on one device and with their parts on two."""
    register()
    found = {
        name: {
            "one device": results_of(name, CHECKS),
            "two devices": results_of(name, ON_TWO_DEVICES, *PLACED, APART),
        }
        for name in names
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
