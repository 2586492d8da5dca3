"""GPUs of this machine, taken by jobs side by side and given back when they end or die."""

import logging
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from hydra.core.utils import env_override
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from datamodules.files import locked
from lightning_modules.ranks.devices import (
    chosen_gpus,
    on_gpus,
    processes,
    visible_gpus,
    world_size,
)

log = logging.getLogger(__name__)

FOLDER = Path(tempfile.gettempdir()) / f"attention-bench-{os.getuid()}"
"""Folder with a lock file for each job slot on a GPU (``jobs_per_gpu`` slots).

The kernel frees a lock when its process ends.
"""
POLL_SECONDS = 0.5  # polling interval of a job that waits for GPUs

Taken = dict[str, FileLock]  # GPUs by name, each with the lock of a place on it
_opened: Taken = {}
"""GPUs that CUDA has opened in this process: CUDA sees no other GPUs until the process ends."""


@contextmanager
def leased(config: DictConfig) -> Iterator[None]:
    """Take the GPUs that a job needs and hide the others; wait while other jobs hold them.

    A machine without GPUs and ranks of torchrun or SLURM take none. Raises ``UserError`` at once if
    the job needs more GPUs than the machine has.
    """
    gpus = visible_gpus() if world_size() == 1 else []
    devices = config.devices
    if not gpus and world_size() == 1 and devices.gpus_per_job:
        raise UserError(
            f"devices.gpus_per_job={devices.gpus_per_job}: this machine has no GPU; leave it out"
        )
    count = _needed(config, len(gpus)) if gpus else 0
    if not count:
        yield
        return
    chosen = chosen_gpus(config.trainer)
    taken = _take(
        [gpus[number] for number in chosen or range(len(gpus))], count, config.devices.jobs_per_gpu
    )
    try:
        # GPUs that ``trainer.devices`` numbers keep their numbers.
        with env_override({"CUDA_VISIBLE_DEVICES": ",".join(gpus if chosen else taken)}):
            yield
    finally:
        if torch.cuda.is_initialized() and not _opened:
            _opened.update(taken)
        _give_back(taken)


def _needed(config: DictConfig, gpus: int) -> int:
    """Return how many GPUs a job needs. Raises ``UserError`` if the machine has fewer."""
    wanted = config.devices.gpus_per_job
    if not on_gpus(config.trainer, gpus):
        return 0
    if wanted is not None and wanted > gpus:
        raise UserError(f"devices.gpus_per_job={wanted}: this machine has {gpus}; ask for less")
    return wanted or max(processes(config.trainer, gpus), min(_placed(config), gpus))


def _placed(config: DictConfig) -> int:
    """Return how many GPUs ``model.placement`` needs: two for ``cuda:1``."""
    placement = OmegaConf.select(config, "model.placement") or {}
    numbers = [re.fullmatch(r"cuda:(\d+)", str(device)) for device in placement.values()]
    return max((int(number[1]) + 1 for number in numbers if number), default=0)


def _take(gpus: Sequence[str], count: int, jobs_per_gpu: int) -> Taken:
    """Take ``count`` of these GPUs, first those that this process has opened, then the emptiest.

    Only one job at a time may take GPUs; this job keeps its GPUs until it has all that it needs. So
    two jobs never wait for each other, and small jobs never starve a large job.
    """
    taken = {gpu: _opened[gpu] for gpu in [*_opened][:count] if gpu in gpus}
    places = [(gpu, place) for place in range(jobs_per_gpu) for gpu in gpus]
    announced = False
    try:
        with locked(FOLDER / "choosing"):
            while True:
                for gpu, place in places:
                    if len(taken) < count and gpu not in taken:
                        taken |= _place(gpu, place)
                if len(taken) == count:
                    return {gpu: taken[gpu] for gpu in gpus if gpu in taken}
                if not announced:
                    log.info("waiting for %d of %d GPUs: other jobs have them", count, len(gpus))
                announced = True
                time.sleep(POLL_SECONDS)
    except BaseException:
        _give_back(taken)
        raise


def _place(gpu: str, number: int) -> Taken:
    """Take a place on a GPU; nothing if another job holds it."""
    lock = FileLock(FOLDER / f"{gpu}.{number}", mode=0o600)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return {}
    return {gpu: lock}


def _give_back(taken: Taken) -> None:
    for gpu in taken.keys() - _opened.keys():
        taken[gpu].release()
