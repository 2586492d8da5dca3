"""The rank of this process in a training, from torchrun, SLURM or ``launcher``."""

import os


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
