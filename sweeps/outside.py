"""Command lines of the ranks that torchrun or SLURM starts, each of which is a whole program."""

from collections.abc import Sequence

from datamodules.errors import UserError
from lightning_modules.ranks.world import is_rank_zero, world_size

MULTIRUN = ("-m", "--multirun", "comparison=", "sweep=")
"""How arguments begin that make a multirun."""
TOGETHER = ("task=train", "task=test")
"""Tasks of several ranks."""
TIMED = ("force=true", "task=test")
"""Their folder's name has the time in it, which each rank would read off its own clock."""


def as_rank(arguments: Sequence[str]) -> list[str]:
    """What Hydra is told on this rank: all write to one folder, and the first of them for Hydra.

    Raises ``UserError`` for a multirun, for a task of one process on a further rank, and where the
    folder's name would have the time in it.
    """
    if world_size() == 1:
        return list(arguments)
    placed = any(argument.startswith("hydra.run.dir=") for argument in arguments)
    for argument in arguments:
        if argument.startswith(MULTIRUN):
            raise UserError(
                f"{argument}: torchrun and srun start the ranks of one training; leave them out, "
                "and each job starts its own, or give one job at a time"
            )
        if argument.lower() in TIMED and not placed:
            raise UserError(f"{argument}: give hydra.run.dir=DIR too, the new folder for all ranks")
        alone = argument.startswith("task=") and argument not in TOGETHER
        if alone and not is_rank_zero():
            raise UserError(f"{argument}: is for one process; start it without torchrun and srun")
    own = [] if is_rank_zero() else ["hydra.output_subdir=null", "hydra/job_logging=disabled"]
    return [*arguments, *own]
