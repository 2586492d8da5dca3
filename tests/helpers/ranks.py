"""Ranks on this machine: processes that start together, as torchrun starts them."""

import os
import socket
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from hydra import initialize_config_dir
from omegaconf import DictConfig

from datamodules.files import write_json
from sweeps.launch.compose import hydra_job
from sweeps.launch.resolvers import register
from tests.helpers.variants import CONF

PATIENCE_SECONDS = 300.0


def on_ranks(ranks: int, task: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call ``task`` once on each rank; return the results by rank."""
    context = get_context("forkserver")  # imports once, and forks before any thread exists
    context.set_forkserver_preload(["tests.helpers.ranks", "lightning_modules.tasks.train"])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    calls = [(rank, ranks, port, task, arguments) for rank in range(ranks)]
    with context.Pool(ranks) as pool:
        return pool.starmap_async(_as_rank, calls, chunksize=1).get(PATIENCE_SECONDS)


def _as_rank(
    rank: int, ranks: int, port: int, task: Callable[..., Any], arguments: Sequence[Any]
) -> Any:
    torch.set_num_threads(1)
    register()
    environment = {
        **{"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0},
        **{"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks},
        **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "tests"},
    }
    os.environ.update({name: str(value) for name, value in environment.items()})
    return task(*arguments)


class Job(NamedTuple):
    """Task, folder and overrides of a command."""

    task: Callable[[DictConfig], float | None]
    folder: Path
    overrides: list[str]


def run_jobs(jobs: Sequence[Job]) -> list[float | None]:
    """Run jobs one after the other; return their scores."""
    scores = []
    for job in jobs:
        with (
            initialize_config_dir(str(CONF), version_base="1.3"),
            hydra_job(job.overrides, job.folder) as (_, config),
        ):
            scores.append(job.task(config))
    return scores


class Losses(pl.Callback):
    """Losses of all updates, all of which the trainer logs; maybe in a file of ``folder``."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder
        self.values: list[float] = []

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step > len(self.values):
            self.values.append(float(trainer.callback_metrics["train/loss"]))

    def on_train_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if self.folder is not None and trainer.is_global_zero:
            write_json(Path(self.folder) / "losses.json", self.values)
