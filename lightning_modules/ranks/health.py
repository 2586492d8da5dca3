"""The check of the ranks before a training: who is there, on which device, how fast they talk."""

import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from datetime import timedelta
from statistics import median
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf
from torch import distributed

from datamodules.errors import UserError
from lightning_modules.kernels.device import wait_for
from lightning_modules.runs.provenance import code_versions

log = logging.getLogger(__name__)

PATIENCE = timedelta(minutes=5)
"""Longest time that a rank waits for the others."""

PROBE_MIB = {"cpu": 8, "cuda": 64}
"""Size of the numbers that the ranks add up to measure their connection, by type of device."""
PROBES = 3


class RankReport(NamedTuple):
    """What a rank says about itself."""

    rank: int
    node: int
    """Number of the node, from 0."""
    host: str
    device: str
    """Name of the GPU, or ``cpu``."""
    gpu: str | None
    """UUID of the GPU; None on a CPU."""
    free_gib: float | None
    """Free memory of the GPU; None on a CPU."""
    torch: str
    """Version of torch."""
    code: str
    """Version of the code that trains."""


def check_ranks(trainer: pl.Trainer) -> None:
    """Let all ranks tell of themselves, measure their connection, and log both in one line.

    Call this on all ranks once they are connected. Raises ``UserError`` for ranks that cannot
    train together; all ranks then raise the same error.
    """
    device = trainer.strategy.root_device
    group = distributed.new_group(backend="gloo", timeout=PATIENCE)
    reports: list[Any] = [None] * trainer.world_size
    distributed.all_gather_object(reports, _report(trainer, device), group)
    check_reports(reports)
    rate = all_reduce_rate(device)
    distributed.destroy_process_group(group)
    if trainer.is_global_zero:
        log.info("%s; all-reduce %.3g GB/s", summary(reports), rate / 1e9)


def check_reports(reports: Sequence[RankReport]) -> None:
    """Raise ``UserError`` for a GPU that two ranks share, or for nodes that differ."""
    owners: dict[str, RankReport] = {}
    for report in reports:
        if report.gpu is None:
            continue
        other = owners.setdefault(report.gpu, report)
        if other is not report:
            raise UserError(
                f"ranks {other.rank} and {report.rank} on {report.host} have the same GPU: let "
                "each see all GPUs of its node, as with srun --gpu-bind=none"
            )
    ranks_of = Counter(report.node for report in reports)
    _agree(reports, "number of ranks on a node", lambda report: ranks_of[report.node])
    _agree(reports, "device", lambda report: "GPU" if report.gpu else "CPU")
    _agree(reports, "version of torch", lambda report: report.torch)
    _agree(reports, "version of this code", lambda report: report.code)


def _agree(
    reports: Sequence[RankReport], what: str, value: Callable[[RankReport], Hashable]
) -> None:
    """Raise ``UserError`` for the first rank whose value is not that of rank zero."""
    first = reports[0]
    for other in reports:
        if value(other) != value(first):
            raise UserError(
                f"{what}: {value(other)} for rank {other.rank} on {other.host}, {value(first)} "
                f"for rank {first.rank} on {first.host}; make all nodes equal"
            )


def summary(reports: Sequence[RankReport]) -> str:
    """Return the numbers of ranks, nodes and devices, and the free memory of the fullest GPU."""
    nodes = len({report.node for report in reports})
    kinds = Counter(report.device for report in reports)
    devices = ", ".join(f"{count} × {name}" for name, count in kinds.items())
    line = f"{len(reports)} ranks on {nodes} node{'s' * (nodes > 1)}, {devices}"
    free = [report.free_gib for report in reports if report.free_gib is not None]
    return f"{line}, at least {min(free):.1f} GiB free" if free else line


def all_reduce_rate(device: torch.device) -> float:
    """Return the bytes per second at which the ranks add up numbers of all ranks.

    The rate is that of the slowest link of a ring (the "bus bandwidth" of nccl-tests).
    """
    numbers = torch.zeros(PROBE_MIB.get(device.type, 8) * 2**18, device=device)
    times = []
    for _ in range(1 + PROBES):  # the first connects the ranks
        wait_for(device)
        started = time.perf_counter()
        distributed.all_reduce(numbers)
        wait_for(device)
        times.append(time.perf_counter() - started)
    ranks = distributed.get_world_size()
    return numbers.nbytes * 2 * (ranks - 1) / ranks / median(times[1:])


def _report(trainer: pl.Trainer, device: torch.device) -> RankReport:
    name, gpu, free = "cpu", None, None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        name, gpu = properties.name, str(properties.uuid)
        free = torch.cuda.mem_get_info(device)[0] / 2**30
    return RankReport(
        rank=trainer.global_rank,
        node=trainer.node_rank,
        host=socket.gethostname(),
        device=name,
        gpu=gpu,
        free_gib=free,
        torch=torch.__version__,
        code=code_versions(OmegaConf.create()).training,
    )
