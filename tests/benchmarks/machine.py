"""Common parts of the benchmarks: description of the machine, and W&B run."""

import os
from typing import Any, Literal, cast

import torch
import wandb

from lightning_modules.runs.environment import environment
from lightning_modules.runs.provenance import git_commit


def machine() -> dict[str, Any]:
    """Return hardware, versions and commit."""
    description = environment() | {"git_commit": git_commit()}
    if torch.cuda.is_available():
        description["gpu"] = torch.cuda.get_device_name()
    return description


def track(name: str, config: dict[str, Any], rows: dict[str, dict[str, float]]) -> None:
    """Log ``rows`` as a table and as a summary; offline unless ``WANDB_MODE`` says otherwise."""
    mode = cast(Literal["offline"], os.environ.get("WANDB_MODE", "offline"))
    with wandb.init(
        project="attention-bench",
        job_type="benchmark",
        name=name,
        config=config,
        mode=mode,
        dir="outputs",
    ) as run:
        titles = list(next(iter(rows.values())))
        table = wandb.Table(["workload", *titles])
        for workload, figures in rows.items():
            table.add_data(workload, *figures.values())
            run.summary.update({f"{workload}/{title}": value for title, value in figures.items()})
        run.log({name: table})
