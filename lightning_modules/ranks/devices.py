"""The rank of this process, the devices of this machine, and how many ``trainer=`` asks for."""

import os
import subprocess
from typing import Any

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError


def world_size() -> int:
    """Return the number of processes that train together."""
    if "RANK" in os.environ:
        return int(os.environ["WORLD_SIZE"])
    # An interactive shell has SLURM_NTASKS too; Lightning checks the job name as well.
    if os.environ.get("SLURM_JOB_NAME") in ("bash", "interactive"):
        return 1
    return int(os.environ.get("SLURM_NTASKS", "1"))


def is_rank_zero() -> bool:
    """Return whether this process writes files, logs and is tracked."""
    return world_size() == 1 or os.environ.get("RANK", os.environ.get("SLURM_PROCID")) == "0"


SELF_STARTING_STRATEGIES = ("spawn", "fork", "notebook")
"""Parts of names of Lightning's strategies that start processes themselves."""


def visible_gpus() -> list[str]:
    """Return names of the GPUs that this process may use; a GPU has one name in all processes.

    The names are UUIDs if the driver gives UUIDs: a scheduler may renumber GPUs for each job.
    """
    import torch  # here, since every command asks for its rank

    if not torch.cuda.device_count():
        return []
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        names = [str(number) for number in range(torch.cuda.device_count())]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return names
    chosen = [name.strip() for name in visible.split(",")]
    by_number = {str(number): uuid for number, uuid in enumerate(names)}
    return [by_number.get(name, name) for name in chosen]


def on_gpus(trainer: DictConfig, gpus: int) -> bool:
    """Return whether a training uses GPUs; this machine has ``gpus``. Raises ``UserError``."""
    import torch

    accelerator = trainer.get("accelerator", "auto")
    if accelerator == "auto" and not gpus and torch.backends.mps.is_available():
        raise UserError(
            "trainer.accelerator=auto: would take the GPU of this Mac, on which nothing was tried; "
            "give trainer.accelerator=cpu, or trainer.accelerator=mps to try it"
        )
    if accelerator in ("gpu", "cuda") and not gpus:
        raise UserError(
            f"trainer.accelerator={accelerator}: torch finds no GPU on this machine; "
            "give trainer=ddp_cpu, or trainer=default for one process"
        )
    return accelerator in ("gpu", "cuda") or (accelerator == "auto" and gpus > 0)


def chosen_gpus(trainer: DictConfig) -> list[int] | None:
    """Return the GPU numbers in ``trainer.devices``; None if ``devices`` is no list."""
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
    """Return the number of processes of a training on this machine, one for each device.

    Raises ``UserError`` for too few GPUs on this machine, or for named GPUs on CPUs.
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
    """Return how many processes this process must start for a training; 1 to train alone.

    Raises ``UserError`` if torchrun or SLURM has started a wrong number of processes.
    """
    from lightning_modules.kernels.precision import needs_gpu  # imports torch

    gpus = len(visible_gpus())
    count = processes(trainer, gpus)
    strategy = str(trainer.get("strategy", "auto"))
    precision = trainer.get("precision", "32-true")
    if needs_gpu(precision) and not on_gpus(trainer, gpus):
        raise UserError(f"trainer.precision={precision}: needs a GPU; give bf16-mixed or 32-true")
    nodes, started = trainer.get("num_nodes", 1), world_size()
    if not isinstance(nodes, int) or nodes < 1:
        raise UserError(f"trainer.num_nodes={nodes}: give a number of machines, from 1")
    if started > 1 or nodes > 1:
        if started != count * nodes:
            raise UserError(
                f"trainer.devices={count} trainer.num_nodes={nodes}: takes {count * nodes} "
                f"processes, and torchrun or srun started {started}; see docs/reference/devices.md"
            )
        return 1
    if count > 1 and any(name in strategy for name in SELF_STARTING_STRATEGIES):
        raise UserError(f"trainer.strategy={strategy}: give ddp; its processes are started here")
    return count


def _no_devices(devices: Any) -> UserError:
    return UserError(
        f"trainer.devices={devices}: give a number, a list of GPUs like [0,1], or -1 for all GPUs"
    )
