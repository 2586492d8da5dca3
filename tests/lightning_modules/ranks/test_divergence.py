"""A loss that is NaN on one rank ends the training on all ranks, with the same line."""

import math
from pathlib import Path

import pytest
import torch
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig

from lightning_modules.runs.paths import LAST
from lightning_modules.tasks.train import settings_and_data, tracked_training
from lightning_modules.training.callbacks import DivergedError
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from tests.helpers.commands import ROOT, TINY, places
from tests.helpers.ranks import on_ranks

UPDATE = 5
"""The update whose loss is NaN on the second rank."""


def error_of_a_rank(folder: str) -> str:
    original = TranslationModule.loss

    def broken(self, *arguments, **named):
        wrong = self.global_rank == 1 and self.global_step == UPDATE - 1
        return original(self, *arguments, **named) * (math.nan if wrong else 1)

    HydraConfig.instance().cfg = None
    given = [*TINY, *places(Path(folder)), "logger=none", "trainer=ddp_cpu", "batching.pieces=2"]
    with (
        pytest.MonkeyPatch.context() as patch,
        initialize_config_dir(str(ROOT / "conf"), version_base="1.3"),
        hydra_job([*given, "model=transformer"], Path(folder) / "run") as (job, config),
        tracked_training(config, *settings_and_data(config), job) as (trainer, setup, _),
    ):
        patch.setattr(TranslationModule, "loss", broken)
        with pytest.raises(DivergedError) as ended:
            fit(trainer, setup)
    return str(ended.value)


@pytest.mark.long
def test_a_nan_on_one_rank_ends_all_ranks_and_no_checkpoint_has_it(tmp_path):
    first, second = on_ranks(2, error_of_a_rank, str(tmp_path))
    assert first == second
    assert f"the training loss is nan at update {UPDATE}, " in first
    checkpoints = tmp_path / "run" / "checkpoints"
    last = torch.load(checkpoints / LAST, weights_only=True)
    assert last["global_step"] < UPDATE
    assert all(value.isfinite().all() for value in last["state_dict"].values())
    assert (checkpoints / "not_finite.ckpt").is_file()
