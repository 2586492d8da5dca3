"""``${folder:PARENT,NAME,${digest:}}``: the same command gets the same folder again."""

import shutil
from datetime import datetime
from glob import escape
from itertools import groupby
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.identity import folder_digest, scoreboard_name
from lightning_modules.runs.paths import CONF, HYDRA
from lightning_modules.runs.settings import settings

REUSED_TASKS = ("lightning_modules.tasks.train.train",)
"""Tasks that use the finished result of an earlier command."""


def folder(parent: str, name: str, digest: str) -> str:
    """Return PARENT/NAME-DIGEST, or the latest folder whose name begins with NAME-DIGEST.

    Raises ``UserError`` for a name that leads to another folder.
    """
    if "/" in name:  # Hydra makes the folder before the settings are checked
        raise UserError(
            f"variant, seed or comparison_name: {name} is no name of a folder; give a name without "
            "slashes"
        )
    stem = Path(parent, f"{name}-{digest}")
    known = sorted(stem.parent.glob(f"{escape(stem.name)}*"))
    return str(known[-1] if known else stem)


def run_name(*, _root_: DictConfig) -> str:
    """Return the name of the run of ``checkpoint``, which is the run's folder or a file there."""
    named = "" if OmegaConf.is_missing(_root_, "checkpoint") else str(_root_.checkpoint)
    path = Path(named).absolute()
    return path.parents[1].name if path.suffix == ".ckpt" else path.name


def remove_unused(folder: Path) -> None:
    """Remove the folder of a refused command if it holds nothing but Hydra's files.

    Hydra makes the folder before the command can check anything.
    """
    files = [file for file in folder.rglob("*") if file.is_file()]
    logs = [file for file in files if file.suffix == ".log" and not file.stat().st_size]
    records = list((folder / HYDRA).glob("*.yaml"))
    if records and len(files) == len(records) + len(logs):
        shutil.rmtree(folder)


def digest(*, _root_: DictConfig) -> str:
    """Return eight hexadecimal digits of the settings that affect results, and of training code.

    Data is not read yet: paths of files stand for their content. With ``force=true``, and for tasks
    other than training, the current time is appended to the digits, so that the folder is new.
    """
    digits = folder_digest(_root_)
    if _root_.task in REUSED_TASKS and not _root_.force:
        return digits
    return f"{digits}-{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"


def scoreboard(*, _root_: DictConfig) -> str:
    """Return the name of the scoreboard's folder."""
    return scoreboard_name(_root_)


# The cache gives all jobs of a multirun the folder of the first call.
OmegaConf.register_new_resolver("folder", folder, replace=True, use_cache=True)
OmegaConf.register_new_resolver("run_name", run_name, replace=True)
OmegaConf.register_new_resolver("digest", digest, replace=True)
OmegaConf.register_new_resolver("scoreboard", scoreboard, replace=True)


def help_on_groups() -> str:
    """Return a line for each group with its choices; claims are no choices of a training."""
    files = sorted(CONF.glob("*/*.yaml"))
    groups = groupby(files, key=lambda file: file.parent.name)
    return "\n".join(f"{group}: {', '.join(file.stem for file in of)}" for group, of in groups)


def help_on_settings() -> str:
    """Return a line for each setting that a training reads and that is in no group."""
    shown = [
        setting
        for setting in settings().values()
        if "." not in setting.key and not setting.is_group and "train" in setting.tasks
    ]
    return "\n".join(f"  {setting.key:<23} {setting.meaning}" for setting in shown)


OmegaConf.register_new_resolver("help_on_groups", help_on_groups, replace=True)
OmegaConf.register_new_resolver("help_on_settings", help_on_settings, replace=True)
