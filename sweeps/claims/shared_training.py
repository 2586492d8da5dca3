"""Runs that differ only in how the model is tested, as in the search, share one training."""

import shutil
from pathlib import Path

from lightning_modules.runs.schema import HISTORY
from lightning_modules.training.checkpoints import FOLDER


def copy_training(trained: Path, folder: Path) -> None:
    """Copy the checkpoints and the history of a finished training into the folder of a run.

    The run then goes on from its last checkpoint, which is the end of the training: only the test
    is left. A folder with checkpoints of its own stays; without checkpoints to copy, the run
    trains.
    """
    if not (trained / FOLDER).is_dir() or (folder / FOLDER).exists():
        return
    part = folder / f"{FOLDER}.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(trained / FOLDER, part)
    shutil.copy2(trained / HISTORY, folder / HISTORY)
    part.rename(folder / FOLDER)
