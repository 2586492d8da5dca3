"""Jobs of the ranks in ``test_multirun_ranks``, in a module that their processes can import."""

import logging
import os
import signal
import sys
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch import distributed
from torch.utils.data import DataLoader

from datamodules.errors import UserError
from lightning_modules.library_internals import once_connected
from lightning_modules.ranks.health import check_ranks
from lightning_modules.ranks.hung_ranks import HungRanks
from lightning_modules.ranks.launcher import run_on_ranks
from sweeps.launch.errors import run_main

log = logging.getLogger(__name__)
RANK = int(os.environ.get("RANK", -1))


def add_up(start: int) -> int:
    distributed.init_process_group("gloo")
    number = torch.tensor(start + RANK)
    distributed.all_reduce(number)
    log.info("information of rank %d", RANK)
    log.error("an error of rank %d", RANK)
    return int(number)


def make_a_mistake() -> None:
    if RANK == 1:
        raise UserError("model.width=0: too little")
    time.sleep(600)


def have_a_defect() -> None:
    raise ZeroDivisionError(f"of rank {RANK}")


def die() -> None:
    if RANK == 1:
        os._exit(3)
    time.sleep(600)


def wait_for_ever(folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)


def tell_tensors() -> torch.Tensor:
    """Return a tensor, and put another tensor into a log record."""
    log.info("a record", extra={"tensor": torch.ones(2)})
    return torch.ones(3)


class OneWeight(pl.LightningModule):
    """The smallest module that Lightning trains; rank 1 hangs in its third update."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        if RANK == 1 and batch_idx == 2:
            if self.how == "is stopped":
                signal.raise_signal(signal.SIGSTOP)
            time.sleep(600)
        return self.layer(batch).sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def hang(how: str, seconds: float) -> None:
    """Train, with a check of the ranks before, until the ranks find that one hangs."""
    trainer = pl.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, logger=False,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
        use_distributed_sampler=False, callbacks=[HungRanks(timedelta(seconds=seconds))],
    )  # fmt: skip
    once_connected(trainer, check_ranks)
    batches: DataLoader[Any] = DataLoader(list(torch.ones(9, 1)))  # type: ignore[arg-type]
    trainer.fit(OneWeight(how), batches)


if __name__ == "__main__":
    from tests.lightning_modules.ranks import rank_jobs

    run_main(partial(run_on_ranks, 2, rank_jobs.wait_for_ever, sys.argv[1]))
