"""The devices of this machine, and how many of them ``trainer=`` asks for."""

import os
import subprocess
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.ranks.world import world_size

OWN_PROCESSES = ("spawn", "fork", "notebook")
"""In the names of Lightning's strategies that start processes in a way of their own."""

HALF = ("16-mixed", "16", "16-true")
"""Precisions of GPUs alone."""
SHARED_OUT = "FullySharded"
"""In the name of the strategy that shares out parameters; see ``fsdp``."""
OF_SHARED_OUT = ("32-true", "bf16-mixed")


def visible_gpus() -> list[str]:
    """Names of the GPUs that this process may use, the same in every process.

    That is their UUIDs where the driver tells them: a scheduler may number them anew for each job.
    """
    if not torch.cuda.device_count():
        return []
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        told = [str(number) for number in range(torch.cuda.device_count())]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return told
    named = [name.strip() for name in visible.split(",")]
    known = {str(number): uuid for number, uuid in enumerate(told)}
    return [known.get(name, name) for name in named]


def on_gpus(trainer: DictConfig, gpus: int) -> bool:
    """Whether a training is one of GPUs, on a machine with so many. Raises ``UserError``."""
    accelerator = trainer.get("accelerator", "auto")
    if accelerator in ("gpu", "cuda") and not gpus:
        raise UserError(
            f"trainer.accelerator={accelerator}: torch finds no GPU on this machine; "
            "give trainer=ddp_cpu, or trainer=default for one process"
        )
    return accelerator in ("gpu", "cuda") or (accelerator == "auto" and gpus > 0)


def chosen_gpus(trainer: DictConfig) -> list[int] | None:
    """The numbers of GPUs in ``trainer.devices``; None where it does not name them."""
    devices: Any = trainer.get("devices", "auto")
    if isinstance(devices, str) and "," in devices:
        devices = [part for part in devices.split(",") if part.strip()]
    if not OmegaConf.is_list(devices) and not isinstance(devices, list):
        return None
    try:
        return [int(number) for number in devices]
    except ValueError:
        raise _no_devices(devices) from None


def processes(trainer: DictConfig, gpus: int) -> int:
    """How many processes on this machine a training has, one for each of its devices.

    Raises ``UserError`` if there are fewer GPUs than that, or none where GPUs are named.
    """
    devices, of_gpus = trainer.get("devices", "auto"), on_gpus(trainer, gpus)
    chosen = chosen_gpus(trainer)
    if chosen is not None:
        count, highest = len(chosen), max(chosen, default=-1) + 1
    elif devices in (-1, "-1", "auto"):
        count = highest = gpus if of_gpus else 1
    elif str(devices).isdecimal():
        count = highest = int(devices)
    else:
        count = highest = 0
    if count < 1:
        raise _no_devices(devices)
    if not of_gpus and (chosen is not None or devices in (-1, "-1")):
        raise UserError(f"trainer.devices={devices}: names GPUs; on CPUs give a number of ranks")
    if of_gpus and highest > gpus:
        there = "is 1 GPU" if gpus == 1 else f"are {gpus} GPUs"
        raise UserError(f"trainer.devices={devices}: there {there} on this machine; ask for less")
    return count


def ranks_to_start(trainer: DictConfig) -> int:
    """How many processes this one has to start for a training; 1: it trains by itself.

    Raises ``UserError`` where torchrun or SLURM have started another number than it takes.
    """
    gpus = len(visible_gpus())
    count = processes(trainer, gpus)
    strategy = str(trainer.get("strategy", "auto"))
    _check_precision(str(trainer.get("precision", "32-true")), strategy, on_gpus(trainer, gpus))
    nodes, started = trainer.get("num_nodes", 1), world_size()
    if not isinstance(nodes, int) or nodes < 1:
        raise UserError(f"trainer.num_nodes={nodes}: give a number of machines, from 1")
    if started > 1 or nodes > 1:
        if started != count * nodes:
            raise UserError(
                f"trainer.devices={count} trainer.num_nodes={nodes}: takes {count * nodes} "
                f"processes, and torchrun or srun started {started}; see docs/devices.md"
            )
        return 1
    if count > 1 and any(name in strategy for name in OWN_PROCESSES):
        raise UserError(f"trainer.strategy={strategy}: give ddp; its processes are started here")
    return count


def _check_precision(precision: str, strategy: str, of_gpus: bool) -> None:
    """Refuse what Lightning would replace or refuse at greater length. Raises ``UserError``."""
    if precision in HALF and not of_gpus:
        raise UserError(f"trainer.precision={precision}: needs a GPU; give bf16-mixed or 32-true")
    if SHARED_OUT in strategy and precision not in OF_SHARED_OUT:
        raise UserError(
            f"trainer.precision={precision}: trainer=fsdp takes {' or '.join(OF_SHARED_OUT)}"
        )


def _no_devices(devices: Any) -> UserError:
    return UserError(
        f"trainer.devices={devices}: give a number, a list of GPUs like [0,1], or -1 for all GPUs"
    )
