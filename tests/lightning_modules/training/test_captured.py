"""Captured updates: recorded once for each shape, with CUDA graphs emulated on a CPU."""

import logging
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from datamodules.batching import RoundedBatch
from lightning_modules.training import captured
from lightning_modules.training.captured import CapturedUpdates
from tests.helpers.captured_trainings import batches, losses_of
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.variants import NAMES, OPTIONS, small_model
from tests.lightning_modules.training.test_training import module


def training_of(name, *overrides, dtype=torch.float64):
    trained = module()
    trained.model = small_model(name, *overrides).to(dtype).train()
    return trained


def updates_of(trained):
    loss = partial(trained.loss_of_form, RoundedBatch, 0.1)
    return CapturedUpdates(loss, trained.model, torch.device("cpu"), EmulatedGraphs)


def gradients(model):
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def run(trained, batch):
    """Return loss and gradients of a batch."""
    trained.model.zero_grad()
    loss = trained.loss(batch, 0.1)
    loss.backward()
    return loss.detach(), gradients(trained.model)


def replay(trained, first, second):
    """Record the update of one batch; return loss and gradients of its replay with the other."""
    updates = updates_of(trained)
    updates.reserve(first.rounded)
    loss = updates.prepare(second.rounded)()
    updates.attach()
    assert len(updates._recorder.operators) == 1
    return loss, gradients(trained.model)


@pytest.mark.parametrize("name", [*NAMES, *OPTIONS])
def test_a_recorded_update_has_the_numbers_of_the_next_batch(name):
    """Exactly those of the rounded batch; those of the padded batch up to rounding errors."""
    trained = training_of(name, "model.dropout=0")
    first, second = batches(trained.model)
    loss, replayed = replay(trained, first, second)
    rounded_loss, rounded = run(trained, second)
    assert loss == rounded_loss
    assert {name for name, each in rounded.items() if each is None} == {
        name for name, each in replayed.items() if each is None
    }
    padded_loss, padded = run(trained, second._replace(rounded=None))
    torch.testing.assert_close(loss, padded_loss, rtol=1e-12, atol=1e-12)
    for part, gradient in replayed.items():
        if gradient is not None:
            assert gradient.equal(rounded[part]), part
            torch.testing.assert_close(gradient, padded[part], rtol=1e-9, atol=1e-13)


class Counting(nn.Module):
    """A decoder's readout with a number of Python in its formula."""

    def __init__(self, readout):
        super().__init__()
        self.readout, self.calls = readout, 0.0

    def forward(self, inputs):
        self.calls += 1
        return self.readout(inputs) * self.calls


def test_a_number_of_python_is_baked_in():
    """What the exact test above would find: control of the emulator."""
    trained = training_of("luong_no_feeding", "model.dropout=0")
    trained.model.readout = Counting(trained.model.readout)
    first, second = batches(trained.model)
    replayed, _ = replay(trained, first, second)
    assert replayed != run(trained, second)[0]


@pytest.mark.parametrize("keeps", [False, True], ids=["own casts", "old casts"])
def test_a_recorded_update_casts_the_weights_of_its_time(monkeypatch, keeps):
    if keeps:
        monkeypatch.setattr(torch, "clear_autocast_cache", lambda: None)
    trained = training_of("transformer", "model.dropout=0", dtype=torch.float32)
    first, second = batches(trained.model)
    updates = updates_of(trained)
    with torch.autocast("cpu", torch.bfloat16):
        updates.reserve(first.rounded)
    with torch.no_grad():
        for parameter in trained.model.parameters():
            parameter.mul_(2)
    with torch.autocast("cpu", torch.bfloat16):
        loss = updates.prepare(second.rounded)()
    torch.clear_autocast_cache()
    with torch.autocast("cpu", torch.bfloat16):
        expected, _ = run(trained, second)
    assert (loss == expected) is not keeps


class Reading(nn.Module):
    """A decoder's readout that reads a number from the device."""

    def __init__(self, readout):
        super().__init__()
        self.readout = readout

    def forward(self, inputs):
        return self.readout(inputs) * (1.0 if inputs.sum().item() else 2.0)


def test_a_model_that_reads_the_device_is_trained_without_recordings(caplog):
    trained = training_of("luong_global", "model.dropout=0")
    trained.model.readout = Reading(trained.model.readout)
    first, second = batches(trained.model)
    updates = updates_of(trained)
    with caplog.at_level(logging.INFO):
        for batch in (first, second, first):
            loss = updates.prepare(batch.rounded)()
            updates.attach()
            found = {name: each.clone() for name, each in gradients(trained.model).items()}
            expected, theirs = run(trained, batch)
            assert loss == expected
            assert all(found[name].equal(theirs[name]) for name in found)
    [line] = [record.getMessage() for record in caplog.records]
    assert "without CUDA graphs" in line
    assert "_local_scalar_dense" in line
    assert updates._recorder.operators == []


def test_a_recording_that_fails_leaves_the_update_as_it_is(caplog):
    trained = training_of("seq2seq", "model.dropout=0")
    first, _ = batches(trained.model)
    updates = updates_of(trained)

    def fail(run: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nMore lines")

    updates._recorder.record = fail
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            loss = updates.prepare(first.rounded)()
    assert loss == run(trained, first)[0]
    [line] = [record.getMessage() for record in caplog.records]
    assert "Tried to allocate 2 GiB." in line
    assert "More lines" not in line


def test_shapes_are_recorded_when_they_come_again(monkeypatch):
    monkeypatch.setattr(captured, "MOST", 2)
    trained = training_of("seq2seq", "model.dropout=0")
    updates = updates_of(trained)
    shapes = [batch.rounded for batch in batches(trained.model, [([n], [n]) for n in (2, 3, 4)])]
    found = []
    for number in (0, 1, 2, 0, 1, 2, 0, 1, 2):
        updates.prepare(shapes[number])()
        found.append(len(updates._recorder.operators))
    assert found == [0, 0, 0, 1, 2, 2, 2, 2, 2]


def test_recordings_of_all_shapes_leave_their_gradients_in_one_place():
    trained = training_of("seq2seq", "model.dropout=0")
    updates = updates_of(trained)
    places = []
    for batch in batches(trained.model, [([n], [n]) for n in (2, 3)]):
        updates.reserve(batch.rounded)
        updates.attach()
        assert gradients(trained.model).keys() == run(trained, batch)[1].keys()
        updates.attach()
        places.append([each.data_ptr() for each in gradients(trained.model).values()])
    assert places[0] == places[1]


def test_weights_that_a_callback_freezes_are_recorded_anew():
    trained = training_of("seq2seq", "model.dropout=0")
    first, second = batches(trained.model)
    updates = updates_of(trained)
    updates.reserve(first.rounded)
    trained.model.src_embedding.weight.requires_grad_(False)
    for batch in (second, first, second):
        loss = updates.prepare(batch.rounded)()
        updates.attach()
    assert gradients(trained.model)["src_embedding.weight"] is None
    assert len(updates._recorder.operators) == 2
    assert loss == run(trained, second)[0]


@pytest.mark.parametrize(
    ("name", "packed"),
    [("bahdanau", False), ("transformer", False), ("transformer", True)],
    ids=["bahdanau", "transformer", "packed transformer"],
)
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_captured_training_has_the_losses_of_a_run_one(name, packed, precision):
    """With dropout, clipping and Adam: the same draws and updates."""
    run, theirs = losses_of(module(name), None, packed, precision=precision)
    recorder = EmulatedGraphs()
    replayed, ours = losses_of(module(name), recorder, packed, precision=precision)
    assert len(recorder.operators) == (1 if packed else 4)  # the largest shape, and three that came
    if precision == "32-true":
        assert replayed == pytest.approx(run, rel=1e-5)
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    else:  # Adam turns the rounding errors of gradients that are 0, as of keys' biases, into steps
        assert replayed == pytest.approx(run, rel=0.05)


def test_the_memory_of_recordings_is_free_after_the_training():
    trained = module("seq2seq")
    losses_of(trained, EmulatedGraphs())
    assert trained._captured is None
    assert all(parameter.grad is None for parameter in trained.parameters())
