"""Recorded functions, with CUDA graphs emulated on a CPU."""

import pytest
import torch
from torch import nn

from lightning_modules.kernels.replay import CapturableOperators, NotCapturableError, Recorded
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.variants import numbers


def test_a_recording_computes_with_the_arguments_of_each_call():
    weight = numbers(4, 3)
    product = Recorded(EmulatedGraphs(), lambda left: (left @ weight).relu_(), [numbers(2, 4)])
    for seed in (1, 2):
        left = numbers(2, 4, seed=seed)
        assert torch.equal(product(left), (left @ weight).relu())


def test_a_recording_itself_changes_nothing():
    """As a real capture: what the function writes to is written by replays alone."""
    count = torch.zeros(1)
    recording = EmulatedGraphs().record(lambda: count.add_(1) * 2)
    assert count == 0
    assert recording.result.isnan()
    recording.replay()
    recording.replay()
    assert count == 2
    assert recording.result == 4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.sum().item(),
        lambda x: x[x > 0],
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x + torch.tensor([1.0, 2.0]),
        lambda x: (x > 0).nonzero(),
    ],
    ids=["item", "mask", "if", "tensor", "nonzero"],
)
def test_what_no_graph_can_record_is_refused(function):
    with pytest.raises(NotCapturableError):
        EmulatedGraphs().record(lambda: function(numbers(2)))


def test_numbers_of_python_are_baked_in():
    factor = [2.0]
    scaled = Recorded(EmulatedGraphs(), lambda x: x * factor[0], [torch.ones(2)])
    factor[0] = 3.0
    assert torch.equal(scaled(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize("keeps", [True, False], ids=["old casts", "own casts"])
def test_casts_of_weights_are_part_of_a_recording(monkeypatch, keeps):
    """Autocast keeps casts: a recording with casts of an earlier run goes on with old weights."""
    net, inputs = nn.Linear(16, 8), numbers(4, 16)
    if keeps:
        monkeypatch.setattr(torch, "clear_autocast_cache", lambda: None)
    with torch.autocast("cpu", torch.bfloat16):
        net(inputs)
        recording = EmulatedGraphs().record(lambda: net(inputs))
    with torch.no_grad():
        net.weight.add_(1)
    recording.replay()
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        assert torch.equal(recording.result, net(inputs)) is not keeps


def test_the_check_finds_what_a_capture_would_refuse():
    with CapturableOperators():
        numbers(2).relu()
    with pytest.raises(NotCapturableError, match="_local_scalar_dense"), CapturableOperators():
        numbers(2).sum().item()
