"""Resolvers of ``conf/``: folders of commands, widths of models, what one rank alone does.

``${folder:PARENT,NAME,${digest:}}`` gives a command its folder again. ``${scaled:N}`` is a width
of the paper times the ``scale`` of a run, ``${scaled_freely:N}`` a width on which no other width
depends: times ``fine_scale`` too.
"""

import math
import shutil
import sys
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.ranks.devices import is_rank_zero, world_size
from lightning_modules.runs.identity import folder_digest, scoreboard_name
from lightning_modules.runs.paths import HYDRA
from sweeps.launch import jobs
from sweeps.launch.jobs import TaskSweeper

NAMED = {"systems": DictConfig({}, flags={"struct": False})}
"""Keys of ``task=evaluate`` that take a value for each name, without Hydra's ``+``."""
TRAIN, TEST = "lightning_modules.tasks.train.train", "lightning_modules.tasks.score.score"
TASKS_OF_ONE_RUN = (TRAIN, TEST)
"""Tasks that several ranks can share, and that write their progress."""


def folder(parent: str, name: str, digest: str) -> str:
    """Return PARENT/NAME-DIGEST, or the latest folder whose name begins with NAME-DIGEST.

    Raises ``UserError`` for a name that leads to another folder.
    """
    if "/" in name:  # Hydra makes the folder before the settings are checked
        raise UserError(
            f"variant, seed or comparison_name: {name} has a slash; give a name without slashes"
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
    if _root_.task == TRAIN and not _root_.force:  # which may be finished already
        return digits
    return f"{digits}-{time(_root_=_root_)}"


def time(*, _root_: DictConfig) -> str:
    """Return the current time for the name of a folder. Raises ``UserError`` on several ranks."""
    if world_size() > 1 and _root_.task in TASKS_OF_ONE_RUN:  # each rank would read its own clock
        given = "force=true" if _root_.task == TRAIN else "task=test"
        raise UserError(f"{given}: give hydra.run.dir=DIR too, the new folder for all ranks")
    return f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"


def scoreboard(*, _root_: DictConfig) -> str:
    """Return the name of the scoreboard's folder."""
    # A task gets its configuration without Hydra's node.
    return scoreboard_name(_root_, _root_.hydra if "hydra" in _root_ else HydraConfig.get())


def on_rank_zero(value: Any, others: Any) -> Any:
    """Return ``value`` on rank zero, which alone writes the files of Hydra, else ``others``."""
    return value if is_rank_zero() else others


def scaled(width: int, multiple: int = 2, *, _root_: DictConfig) -> int:
    """Return ``width × scale``, rounded to a multiple (of heads, or directions), at least one."""
    return _rounded(width * _factor(_root_, "scale"), multiple)


def scaled_freely(width: int, *, _root_: DictConfig) -> int:
    """Return ``width × scale × fine_scale``, rounded to a multiple of two."""
    return _rounded(width * _factor(_root_, "scale") * _factor(_root_, "fine_scale"), 2)


def _factor(config: DictConfig, name: str) -> float:
    factor = config[name]
    if not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise UserError(f"{name}={factor}: must be a positive number, such as {name}=0.5")
    return factor


def _rounded(width: float, multiple: int) -> int:
    return max(1, round(width / multiple)) * multiple


def register() -> None:
    """Tell OmegaConf and Hydra of what ``conf/`` uses beside their own parts."""
    # The cache gives all jobs of a command the folder of the first call.
    OmegaConf.register_new_resolver("folder", folder, replace=True, use_cache=True)
    for resolver in (run_name, digest, time, scoreboard, on_rank_zero, scaled, scaled_freely):
        OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)
    ConfigStore.instance().store(name="named_systems", node=DictConfig(NAMED))
    # Hydra takes plug-ins from its own namespace package alone.
    sys.modules[TaskSweeper.__module__] = jobs
    Plugins.instance().register(TaskSweeper)
