"""GPUs of this machine, taken by jobs side by side and given back when they end or die."""

import fcntl
import logging
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from hydra.core.utils import env_override
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, PositiveInt, ValidationError

from datamodules.errors import UserError, first_mistake
from datamodules.files import locked
from lightning_modules.ranks.devices import chosen_gpus, on_gpus, processes, visible_gpus
from lightning_modules.ranks.world import world_size

log = logging.getLogger(__name__)

FOLDER = Path(tempfile.gettempdir()) / f"attention-bench-{os.getuid()}"
"""A file for each place on a GPU. The kernel gives a lock back when its process ends or dies."""
SECONDS_BETWEEN_LOOKS = 0.5

Taken = dict[str, int]
"""GPUs by name, with the open file whose lock holds a place on each."""
_opened: Taken = {}
"""Kept until this process ends: CUDA has opened them, and sees no others any more."""


class Devices(BaseModel, extra="forbid"):
    """The group ``devices`` of the configuration."""

    jobs_per_gpu: PositiveInt
    gpus_per_job: PositiveInt | None
    """None: as many as the trainer and the model's placement ask for."""


def build_devices(config: DictConfig) -> Devices:
    """Check the group. Raises ``UserError`` with the setting to change."""
    try:
        return Devices.model_validate(OmegaConf.to_container(config.devices, resolve=True))
    except ValidationError as error:
        raise UserError(first_mistake(error, "devices")) from None


@contextmanager
def leased(config: DictConfig) -> Iterator[None]:
    """Take the GPUs that a job needs, and see them alone; wait while other jobs have them.

    Nothing is taken without GPUs, nor by ranks that torchrun or SLURM have given theirs. Raises
    ``UserError`` at once if the job needs more than there are.
    """
    devices = build_devices(config)
    gpus = visible_gpus() if world_size() == 1 else []
    count = _needed(config, devices, len(gpus)) if gpus else 0
    if not count:
        yield
        return
    chosen = chosen_gpus(config.trainer)
    taken = _take([gpus[number] for number in chosen or range(len(gpus))], count, devices)
    try:
        # Those that ``trainer.devices`` numbers keep their numbers.
        with env_override({"CUDA_VISIBLE_DEVICES": ",".join(gpus if chosen else taken)}):
            yield
    finally:
        if torch.cuda.is_initialized() and not _opened:
            _opened.update(taken)
        _give_back(taken)


def _needed(config: DictConfig, devices: Devices, gpus: int) -> int:
    """How many GPUs a job needs. Raises ``UserError`` if there are fewer."""
    own = devices.gpus_per_job
    if not on_gpus(config.trainer, gpus):
        return 0
    if own is not None and own > gpus:
        raise UserError(f"devices.gpus_per_job={own}: this machine has {gpus}; ask for less")
    return own or max(processes(config.trainer, gpus), min(_placed(config), gpus))


def _placed(config: DictConfig) -> int:
    """How many GPUs a model's parts are placed on, such as ``cuda:1``."""
    placement = OmegaConf.select(config, "model.placement") or {}
    numbers = [re.fullmatch(r"cuda:(\d+)", str(device)) for device in placement.values()]
    return max((int(number[1]) + 1 for number in numbers if number), default=0)


def _take(gpus: Sequence[str], count: int, devices: Devices) -> Taken:
    """Take so many of these GPUs, the emptiest first; beginning with those that are open here.

    One job at a time chooses, and keeps what it found while it waits for the rest: so none waits
    for ever, neither for another that waits nor for many small ones.
    """
    taken = {gpu: _opened[gpu] for gpu in [*_opened][:count] if gpu in gpus}
    places = [(gpu, place) for place in range(devices.jobs_per_gpu) for gpu in gpus]
    told = False
    try:
        with locked(FOLDER / "choosing"):
            while True:
                for gpu, place in places:
                    if len(taken) < count and gpu not in taken:
                        taken |= _place(gpu, place)
                if len(taken) == count:
                    return {gpu: taken[gpu] for gpu in gpus if gpu in taken}
                if not told:
                    log.info("waiting for %d of %d GPUs: other jobs have them", count, len(gpus))
                told = True
                time.sleep(SECONDS_BETWEEN_LOOKS)
    except BaseException:
        _give_back(taken)
        raise


def _place(gpu: str, number: int) -> Taken:
    """Take a place on a GPU; nothing if another job has it."""
    file = os.open(FOLDER / f"{gpu}.{number}", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return {}
    return {gpu: file}


def _give_back(taken: Taken) -> None:
    for gpu in taken.keys() - _opened.keys():
        os.close(taken[gpu])
