"""Command lines of the ranks that torchrun or SLURM starts, each of which is a whole program."""

from collections.abc import Sequence

from datamodules.errors import UserError
from lightning_modules.ranks.world import is_rank_zero, world_size


def as_rank(arguments: Sequence[str]) -> list[str]:
    """What Hydra is told on this rank: all write to one folder, and the first of them for Hydra.

    Raises ``UserError`` for a multirun, and where the folder's name would have the time in it.
    """
    if world_size() == 1:
        return list(arguments)
    if any(argument in ("-m", "--multirun") for argument in arguments):
        raise UserError(
            "-m: torchrun and srun start the ranks of one training; leave them out, and each job "
            "starts its own, or give one job at a time"
        )
    placed = any(argument.startswith("hydra.run.dir=") for argument in arguments)
    if "force=true" in arguments and not placed:
        raise UserError("force=true: give hydra.run.dir=DIR too, the new folder for all ranks")
    own = [] if is_rank_zero() else ["hydra.output_subdir=null", "hydra/job_logging=disabled"]
    return [*arguments, *own]
