"""Captured updates on a GPU: the numbers of the same updates run, and what cannot be captured.

On a CPU the same tests take emulated graphs, to look for their own mistakes.
"""

import logging
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from datamodules.batching import RoundedBatch
from lightning_modules.kernels.replay import CudaGraphs
from lightning_modules.training.captured import CapturedUpdates
from lightning_modules.variants.base import move
from tests.gpu.test_on_gpus import GPU, HEADLINE
from tests.helpers.captured_trainings import batches, losses_of
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.variants import NAMES, OPTIONS, small_model
from tests.lightning_modules.training.test_training import module

CPU = pytest.param("cpu", marks=pytest.mark.long)


def recorder_of(device):
    return EmulatedGraphs() if device == "cpu" else CudaGraphs(torch.device("cuda", 0))


def updates_of(trained, device, batch):
    def loss(*tensors):
        return trained.loss(batch._replace(rounded=RoundedBatch(*tensors)), 0.1)

    return CapturedUpdates(loss, trained.model, torch.device(device), lambda _: recorder_of(device))


def training_of(name, device, *overrides):
    trained = module()
    trained.model = small_model(name, *overrides).to(device).train()
    return trained, [move(each, torch.device(device)) for each in batches(trained.model)]


@pytest.mark.parametrize("name", [*NAMES, *OPTIONS])
@pytest.mark.parametrize("device", [GPU, CPU])
def test_a_replayed_update_has_the_numbers_of_a_run_one(device, name):
    """With dropout: the draws of one seed are the same too."""
    trained, (first, second) = training_of(name, device)
    updates, found = updates_of(trained, device, first), []
    updates.reserve(first.rounded)
    for run in (updates.prepare(second.rounded), partial(updates._run, second.rounded)):
        torch.manual_seed(3)
        loss = run()
        updates.attach()
        grads = [each.grad for each in trained.model.parameters() if each.grad is not None]
        found.append((loss.item(), [each.clone() for each in grads]))
    assert updates._recorded is not None, "the log says why it was not captured"
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    for one, other in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize("name", [*HEADLINE, "rnnsearch", "sutskever2014", "packed transformer"])
@pytest.mark.parametrize("device", [GPU, CPU])
def test_a_captured_training_has_the_losses_of_a_run_one(device, name, precision):
    """Twenty updates with dropout, clipping and Adam."""
    *packed, name = name.split()
    given: dict[str, Any] = {"accelerator": "cpu" if device == "cpu" else "gpu", "devices": 1}
    given |= {"precision": precision, "updates": 20, "packed": bool(packed)}
    run, _ = losses_of(module(name), None, **given)
    replayed, _ = losses_of(module(name), recorder_of(device), **given)
    assert replayed == pytest.approx(run, rel=1e-3 if precision == "32-true" else 0.05)


class Waiting(nn.Module):
    """A readout that waits for the device, which only a capture itself finds."""

    def __init__(self, readout, device):
        super().__init__()
        self.readout, self.device = readout, device

    def forward(self, inputs):
        if self.device == "cpu":
            inputs.sum().item()
        else:
            torch.cuda.synchronize()
        return self.readout(inputs)


@pytest.mark.parametrize("device", [GPU, CPU])
def test_after_a_failed_capture_the_process_trains_and_captures(device, caplog):
    trained, (first, second) = training_of("luong_global", device)
    readout = trained.model.readout
    trained.model.readout = Waiting(readout, device)
    with caplog.at_level(logging.INFO):
        updates = updates_of(trained, device, first)
        for batch in (first, second, first, second):
            assert updates.prepare(batch.rounded)().isfinite()  # dropout draws
    [line] = [each.getMessage() for each in caplog.records]
    assert "without CUDA graphs" in line
    trained.model.readout = readout
    again = updates_of(trained, device, first)
    again.reserve(first.rounded)
    assert again._recorded is not None
    assert again.prepare(second.rounded)().isfinite()
