"""Command lines of the ranks that torchrun or SLURM starts, each of which is a whole program."""

from collections.abc import Sequence

from datamodules.errors import UserError
from lightning_modules.ranks.rank_environment import is_rank_zero, world_size

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
