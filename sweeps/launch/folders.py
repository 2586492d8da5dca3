"""The folder of a command: made before Hydra writes into it, and never one with other work.

A refused command leaves nothing there, and a folder that the user made stays.
"""

import os
import shutil
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, read_write

from datamodules.errors import UserError
from datamodules.files import is_locked, make_folder, what_is
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.runs import paths
from lightning_modules.runs.identity import another, recorded_difference
from lightning_modules.runs.setting_checks import tasks
from sweeps.launch.compose import use_hydra_config
from sweeps.launch.errors import as_user_error, stop
from sweeps.launch.resolvers import TASKS_OF_ONE_RUN, TRAIN

FIRST_FILES = (paths.HYDRA, paths.LOCK, paths.PROGRESS, paths.TOKENIZERS)
"""What a command may have written, besides its log, before it is refused."""
MARKS_OF_A_RUN = (paths.HYDRA, paths.FAILURE, f"{paths.CHECKPOINTS}/{paths.LAST}")
RUN_FILES = (*paths.RUN_FILES, paths.CHECKPOINTS, paths.TOKENIZERS)
MARKS_OF_A_COMPARISON = (paths.HYDRA, paths.MULTIRUN)
COMPARISON_FILES = (paths.COMPARISON, paths.REPORT, paths.TABLES, paths.FIGURES, paths.CURVE)
ELSEWHERE = "give another folder (hydra.run.dir=DIR, or hydra.sweep.dir=DIR for several jobs)"
AT_WORK = f"another command is at work there; {ELSEWHERE}"

LONGEST = 255  # bytes of a name, in the usual file systems
PLACE = "write elsewhere (outputs=DIR, or hydra.run.dir=DIR)"


class Before(NamedTuple):
    """The folder of this command before the command wrote there."""

    folder: Path
    names: set[str]  # what was in the folder
    missing: list[Path]  # the folder and its parents, as far as they were not there
    log: str  # name of the log that Hydra opens in the folder


class CommandFolder(Callback):
    """What Hydra calls before it makes the folder of a command with one job."""

    before: Before | None = None

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse or make the folder; of an exception in a callback, Hydra would only warn."""
        with use_hydra_config(config):
            try:
                self._make(config)
            except Exception as error:
                mistake = as_user_error(error)
                if mistake is not None:
                    remove_traces()
                    stop(f"error: {mistake}", 2)
                traceback.print_exc()
                raise SystemExit(1) from error

    def _make(self, config: DictConfig) -> None:
        folder = Path(config.hydra.run.dir)
        with read_write(config.hydra):
            config.hydra.run.dir = str(folder)  # which may hold the time
        check_folder(folder, config)
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        names = {path.name for path in folder.iterdir()} if not missing else set[str]()
        log = f"{config.hydra.job.name}.log"
        CommandFolder.before = Before(folder, names, missing, log)
        make_folder(folder)


def remove_traces() -> None:
    """Remove what the refused command has left in its folder, unless work is done there."""
    before, CommandFolder.before = CommandFolder.before, None
    if before is None or not is_rank_zero() or is_locked(before.folder / paths.LOCK):
        return
    there = before.folder.iterdir() if before.folder.is_dir() else ()
    new = [path for path in there if path.name not in before.names]
    if all(path.name in (*FIRST_FILES, before.log) for path in new):
        for path in new:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    for folder in filter(Path.is_dir, before.missing):
        if any(folder.iterdir()):
            break
        folder.rmdir()


def check_folder(folder: Path, config: DictConfig) -> None:
    """Raise ``UserError`` unless a command, or one of its jobs, may write into a folder.

    Only ``force=true`` lets a training replace a finished run, or files that no command has
    written. ``config`` has Hydra's node.
    """
    check_place(folder)
    plain: Any = OmegaConf.to_container(config.hydra)
    if config.task not in TASKS_OF_ONE_RUN:
        if plain["output_subdir"] is not None:  # else the task keeps to the files that it is given
            check_folder_of_jobs(folder)
        return
    if is_locked(folder / paths.LOCK) and (
        config.task != TRAIN or recorded_difference(folder, config)  # an equal training waits
    ):
        raise UserError(f"{folder}: {AT_WORK}")
    if config.task != TRAIN or not config.force:
        remedy = ELSEWHERE
        if config.task == TRAIN:
            remedy += ", or force=true to replace what is there"
        _check_finished(folder, config, remedy)
        _check_own_files(folder, MARKS_OF_A_RUN, RUN_FILES, remedy)


def _check_finished(folder: Path, config: DictConfig, remedy: str) -> None:
    if not (folder / paths.RESULT).is_file():
        return
    if config.task != TRAIN:
        task = tasks()[config.task]
        raise UserError(f"{folder}: holds a finished run, which task={task} keeps; {remedy}")
    if other := recorded_difference(folder, config):
        raise UserError(f"{folder}: holds a finished run with {another(other)}; {remedy}")


def check_folder_of_jobs(folder: Path) -> None:
    """Raise ``UserError`` unless a command may write a comparison or other results here."""
    check_place(folder)
    if is_locked(folder / paths.LOCK):
        raise UserError(f"{folder}: {AT_WORK}")
    if (folder / paths.RESULT).is_file():
        raise UserError(f"{folder}: holds a finished run, which this command keeps; {ELSEWHERE}")
    _check_own_files(folder, MARKS_OF_A_COMPARISON, COMPARISON_FILES, ELSEWHERE)


def _check_own_files(
    folder: Path, marks: Sequence[str], replaced: Sequence[str], remedy: str
) -> None:
    """Raise ``UserError`` for files that would be replaced where no command has left its marks."""
    if any((folder / mark).exists() for mark in marks):
        return
    own = next((name for name in replaced if (folder / name).exists()), None)
    if own is not None:
        raise UserError(f"{folder}: holds {own}, which no command here has written; {remedy}")


def check_place(folder: Path) -> None:
    """Raise ``UserError`` for a folder that cannot be made or written."""
    if too_long := [part for part in folder.parts if len(os.fsencode(part)) > LONGEST]:
        raise UserError(
            f"{too_long[0][:30]}…: too long for the name of a folder; give a shorter variant, "
            "comparison_name, outputs=DIR or hydra.run.dir=DIR"
        )
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), Path())
    if not there.is_dir():
        raise UserError(f"{folder}: {there} {what_is(there)}; {PLACE}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{folder}: {there} cannot be written; {PLACE}")
