"""The rank of this process in a training, from torchrun, SLURM or ``launch``."""

import os
from collections.abc import Sequence

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


MULTIRUN_ARGUMENTS = ("-m", "--multirun", "comparison=", "sweep=")
"""Beginnings of arguments that make a multirun."""
MULTI_RANK_TASKS = ("task=train", "task=test")
"""Tasks that several ranks can share."""
TIMESTAMPED = ("force=true", "task=test")
"""Overrides that put the time into the name of the folder; each rank would read its own clock."""


def rank_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of Hydra on this rank: only rank zero writes the files of Hydra.

    Raises ``UserError`` for a multirun, for a task of one process on a further rank, and where the
    folder's name would have the time in it.
    """
    if world_size() == 1:
        return list(arguments)
    placed = any(argument.startswith("hydra.run.dir=") for argument in arguments)
    for argument in arguments:
        if argument.startswith(MULTIRUN_ARGUMENTS):
            raise UserError(
                f"{argument}: torchrun and srun start the ranks of one training; leave them out, "
                "and each job starts its own, or give one job at a time"
            )
        if argument.lower() in TIMESTAMPED and not placed:
            raise UserError(f"{argument}: give hydra.run.dir=DIR too, the new folder for all ranks")
        alone = argument.startswith("task=") and argument not in MULTI_RANK_TASKS
        if alone and not is_rank_zero():
            raise UserError(f"{argument}: is for one process; start it without torchrun and srun")
    silent = [] if is_rank_zero() else ["hydra.output_subdir=null", "hydra/job_logging=disabled"]
    return [*arguments, *silent]
