"""One training for several tests: runs that differ only in how a model is tested.

The first run trains; the others get its checkpoints, which are the end of their training too, and
only test.
"""

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from lightning_modules.runs.identity import Identity
from lightning_modules.runs.paths import CHECKPOINTS, HISTORY
from sweeps.launch.compose import training_config
from sweeps.launch.resolvers import TRAIN


class Turns(NamedTuple):
    """Jobs by their numbers: those that train, and those that follow once these have ended."""

    first: list[int]
    others: dict[int, int]  # number of the job that trains, by the number of another test


def turns_of(trainings: Sequence[str | None], begun: Collection[int]) -> Turns:
    """Return the turns of jobs with these trainings; None for a job that shares none.

    Jobs that have ``begun`` before have checkpoints of their own, and wait for no other.
    """
    trained: dict[str, int] = {}
    turns = Turns([], {})
    for number, training in enumerate(trainings):
        first = number if training is None else trained.setdefault(training, number)
        if first == number or number in begun:
            turns.first.append(number)
        else:
            turns.others[number] = first
    return turns


def training_of(config: DictConfig) -> str | None:
    """Return what is equal for jobs of one training; None for a job that shares none.

    That is a job of another task, with rungs, which are runs of their own, or with ``force=true``,
    which trains anew. ``config`` is a composed configuration, whose ``${hydra:…}`` resolve.
    """
    if config.task != TRAIN or config.budget.rungs or config.force:
        return None
    return Identity.of_config(training_config(config)).training


def copy_training(trained: Path, folder: Path) -> None:
    """Copy the checkpoints and the history of a finished training into the folder of a run.

    The run then continues from its last checkpoint, which is the end of the training: only the test
    is left. A folder with checkpoints of its own stays; without checkpoints to copy, the run
    trains.
    """
    if not (trained / CHECKPOINTS).is_dir() or (folder / CHECKPOINTS).exists():
        return
    part = folder / f"{CHECKPOINTS}.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(trained / CHECKPOINTS, part)
    shutil.copy2(trained / HISTORY, folder / HISTORY)
    part.rename(folder / CHECKPOINTS)
