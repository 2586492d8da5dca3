"""Between two updates the processor never waits for the device: it prepares the next update."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig

from lightning_modules.ranks.rank_flags import RankFlags
from lightning_modules.tasks.train import settings_and_data, tracked_training
from lightning_modules.training.callbacks import divergence
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from tests.helpers.commands import ROOT, TINY, places
from tests.helpers.host_waits import HostWaits
from tests.helpers.ranks import on_ranks

EVERY = 4
"""Updates between two logged updates."""
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
    monkeypatch.setattr(divergence, "runs_ahead", lambda device: True)
    tiny = [given for given in TINY if not given.startswith(("budget", "trainer"))]
    given = [*tiny, *places(space), "logger=none", "budget=updates", f"budget.updates={UPDATES}"]
    every = [f"trainer.log_every_n_steps={EVERY}", f"trainer.val_check_interval={UPDATES}"]
    HydraConfig.instance().cfg = None
    everything = [*given, *every, *overrides]
    with (
        initialize_config_dir(str(ROOT / "conf"), version_base="1.3"),
        hydra_job(everything, space / "run") as (job, config),
        tracked_training(config, *settings_and_data(config), job) as (trainer, setup, _),
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


def test_an_update_of_the_training_loop_waits_for_nothing(tmp_path, monkeypatch):
    """The recurrent variants have kernels of their own on a CPU: ``tests/fake_device``."""
    check(waits_by_update(tmp_path, monkeypatch, "model=transformer"))


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
