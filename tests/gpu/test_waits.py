"""In an update the processor never waits for the GPU: torch raises an error where it would."""

from collections import Counter
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from datamodules.batching import Batch
from tests.gpu.test_on_gpus import needs
from tests.helpers.variants import NAMES
from tests.tools.benchmarks.gpu.measuring import MINIATURE, System, training, training_overrides

UPDATES = 200  # at most
ENOUGH = 5  # updates in which nothing may wait
KNOWN = 3  # updates of a shape, after which nothing is compiled or captured any more
DEVICES = [
    pytest.param("cuda", marks=needs(1)),
    pytest.param("cpu", marks=pytest.mark.long),  # to look for mistakes of the test itself
]


class Strict(pl.Callback):
    """Let torch refuse to wait in updates of known shapes that log nothing."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.updates = 0  # in which torch refused
        self._seen: Counter[tuple[int, ...]] = Counter()

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: Any, batch: Batch, batch_idx: int
    ) -> None:
        shape = (*batch.src.shape, *batch.tgt_in.shape)
        self._seen[shape] += 1
        if self._seen[shape] > KNOWN and not pl_module.logs_now:
            self.updates += 1
            self._refuse_waits("error")

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self._refuse_waits("default")
        trainer.should_stop |= self.updates == ENOUGH or trainer.global_step == UPDATES

    def _refuse_waits(self, mode: str) -> None:
        if self.device == "cuda":
            torch.cuda.set_sync_debug_mode(mode)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", DEVICES)
def test_an_update_waits_for_nothing(name, device):
    precision = "bf16" if device == "cuda" else "float32"
    given = training_overrides(System("Transformer", "laptop", precision), MINIATURE, device)
    few = ["data.train_size=12", f"model={name}"]  # so that shapes come again
    strict = Strict(device)
    try:
        with training([*given[1:], *few], strict) as (trainer, setup):
            trainer.fit(setup.module, datamodule=setup.data)
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")
    assert strict.updates == ENOUGH
