"""Between two updates the processor never waits for the device: it prepares the next update."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from torch import nn
from torch.nn.utils import clip_grad_norm_

from lightning_modules.kernels.rnn import run_padded
from lightning_modules.ranks.updates import RankFlags
from lightning_modules.tasks.train import sized_for_data, tracked_training
from lightning_modules.training import losses
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from tests.helpers.commands import ROOT, TINY, places
from tests.helpers.host_waits import HostWaits
from tests.helpers.ranks import on_ranks
from tests.helpers.variants import small_model
from tests.lightning_modules.training.test_training import batch

EVERY = 4  # updates between two logged updates
UPDATES = 12
NOTHING: Counter[str] = Counter()


def waits_by_update(space: Any, monkeypatch: Any, *overrides: str) -> dict[int, dict[str, int]]:
    """Train with all callbacks as on a GPU; return the waits of each update by operator."""
    waits = HostWaits()
    found: dict[int, dict[str, int]] = {}

    def start(self: RankFlags, trainer: pl.Trainer, *arguments: Any) -> None:
        waits.where.clear()
        original_start(self, trainer, *arguments)

    def end(self: Any, trainer: pl.Trainer, *arguments: Any) -> None:
        original_end(self, trainer, *arguments)
        found[trainer.global_step] = Counter(waits.where)

    original_start = RankFlags.on_train_batch_start
    original_end = pl.callbacks.ModelCheckpoint.on_train_batch_end
    monkeypatch.setattr(RankFlags, "on_train_batch_start", start)
    monkeypatch.setattr(pl.callbacks.ModelCheckpoint, "on_train_batch_end", end)
    monkeypatch.setattr(losses, "runs_ahead", lambda device: True)
    tiny = [given for given in TINY if not given.startswith(("budget", "trainer"))]
    given = [*tiny, *places(space), "logger=none", "budget=updates", f"budget.updates={UPDATES}"]
    every = [f"trainer.log_every_n_steps={EVERY}", f"trainer.val_check_interval={UPDATES}"]
    every.append("~callbacks.learning_curve")  # whose points are validations of their own
    HydraConfig.instance().cfg = None
    everything = [*given, *every, *overrides]
    with (
        initialize_config_dir(str(ROOT / "conf"), version_base="1.3"),
        hydra_job(everything, space / "run") as (job, config),
        tracked_training(config, sized_for_data(config), job) as (trainer, setup, _),
        waits,
    ):
        fit(trainer, setup)
    return found


def check(found: dict[int, dict[str, int]], allowed: Counter[str] = NOTHING) -> None:
    """Assert that updates wait for nothing but what is allowed, and those that are logged."""
    assert len(found) >= UPDATES
    saved = 1  # before the first update, a checkpoint is written
    waited = {
        update: waits
        for update, waits in found.items()
        if not Counter(waits) <= allowed and update != saved
    }
    assert all(update % EVERY == 0 for update in waited), waited
    assert found[EVERY]  # the count sees that losses are read


@pytest.mark.long
def test_an_update_of_the_training_loop_waits_for_nothing(tmp_path, monkeypatch):
    """The recurrent variants have kernels of their own on a CPU: ``tests/tools/fake_device``."""
    check(waits_by_update(tmp_path, monkeypatch, "model=transformer"))


def promised() -> tuple[int, int]:
    """The table of the page: waits of an update, and of one with the scaler of float16."""
    page = (ROOT / "docs" / "reference" / "devices.md").read_text(encoding="utf-8")
    row = r"^\| an update .*\| (\d+); with `trainer\.precision=16-mixed` (\d+), for the scaler \|"
    [(without, scaled)] = re.findall(row, page, re.M)
    return int(without), int(scaled)


@pytest.mark.parametrize("scaled", [False, True])
def test_an_update_waits_as_often_as_the_page_says(scaled):
    """A scaler of the CPU has the code of a GPU's; Adam, unlike SGD, counts on the host."""
    model, padded = small_model("transformer").train(), batch([3, 7, 5])
    scaler = torch.amp.GradScaler("cpu", enabled=scaled)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with HostWaits() as waits:
        features = model.decode(model.encode(*padded.source), padded.tgt_in).features
        real, targets = padded.real_targets(features)
        scaler.scale(model.loss(real, targets, 0.1)).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert waits.count == promised()[scaled], waits.where


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_encoders_wait_for_nothing(kind):
    """The call that a GPU takes: ``tests/tools/fake_device`` cannot run the RNNs of cuDNN."""
    rnn, inputs = kind(4, 3, 2, batch_first=True, bidirectional=True), torch.ones(2, 5, 4)
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    with HostWaits() as waits:
        run_padded(rnn, inputs, mask).states.sum().backward()
    assert waits.where == []


def waits_of_a_rank(folder: str) -> dict[int, dict[str, int]]:
    ranks = ["trainer=ddp_cpu", "batching.pieces=2"]
    with pytest.MonkeyPatch.context() as patch:
        return waits_by_update(Path(folder), patch, "model=transformer", *ranks)


@pytest.mark.long
def test_an_update_of_two_ranks_waits_for_nothing(tmp_path):
    """Fake tensors cannot show it: the reducer of DDP reads the data of the parameters."""
    flags = Counter({"Tensor.tolist": 1})  # exchanged over gloo, the processor's own
    for found in on_ranks(2, waits_of_a_rank, str(tmp_path)):
        check(found, flags)
