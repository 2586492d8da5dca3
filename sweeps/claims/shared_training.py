"""Runs that differ only in how the model is tested, as in the search, share one training."""

import shutil
from pathlib import Path

from lightning_modules.runs.paths import CHECKPOINTS, HISTORY


def copy_training(trained: Path, folder: Path) -> None:
    """Copy the checkpoints and the history of a finished training into the folder of a run.

    The run then goes on from its last checkpoint, which is the end of the training: only the test
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
