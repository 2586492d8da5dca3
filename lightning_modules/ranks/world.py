"""Which of the ranks of one training this process is: from torchrun, SLURM or ``launcher``."""

import os


def world_size() -> int:
    """How many processes train together, 1 where nobody has started several."""
    if "RANK" in os.environ:
        return int(os.environ["WORLD_SIZE"])
    # An interactive shell has the variable too; Lightning goes by its name as well.
    if os.environ.get("SLURM_JOB_NAME") in ("bash", "interactive"):
        return 1
    return int(os.environ.get("SLURM_NTASKS", "1"))


def is_rank_zero() -> bool:
    """Whether this is the process that writes files, logs and is tracked."""
    return world_size() == 1 or os.environ.get("RANK", os.environ.get("SLURM_PROCID")) == "0"
