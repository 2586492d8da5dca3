"""Jobs of the ranks in ``test_multirun_ranks``, in a module that their processes can import."""

import logging
import os
import sys
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
from torch import distributed

from datamodules.errors import UserError
from lightning_modules.ranks.launch import run_on_ranks
from sweeps.launch.errors import run_main

log = logging.getLogger(__name__)
RANK = int(os.environ.get("RANK", -1))


def add_up(start: int) -> int:
    distributed.init_process_group("gloo")
    number = torch.tensor(start + RANK)
    distributed.all_reduce(number)
    log.info("information of rank %d", RANK)
    log.error("an error of rank %d", RANK)
    # As Lightning does at the end; else a thread of gloo may want Python's lock of an ended Python.
    distributed.destroy_process_group()
    return int(number)


def make_a_mistake() -> None:
    if RANK == 1:
        raise UserError("model.width=0: too little")
    time.sleep(600)


def have_a_defect() -> int:
    """Let rank one fail when rank zero has answered."""
    if RANK == 1:
        time.sleep(3)
        raise ZeroDivisionError
    return 7


def die() -> None:
    if RANK == 1:
        os._exit(3)
    time.sleep(600)


def hang() -> None:
    """Let rank zero wait for a rank that sleeps, as long as gloo lets it."""
    distributed.init_process_group("gloo", timeout=timedelta(seconds=3))
    if RANK == 1:
        time.sleep(600)
    distributed.all_reduce(torch.ones(1))


def wait_for_ever(folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)


if __name__ == "__main__":
    from tests.lightning_modules.ranks import rank_jobs

    run_main(partial(run_on_ranks, 2, rank_jobs.wait_for_ever, sys.argv[1]))
