"""Resolvers of ``conf/``: folders of commands, widths of models, what one rank alone does.

``${folder:PARENT,NAME,${digest:}}`` gives a command its folder again. ``${scaled:N}`` is a width
of the paper times the ``scale`` of a run, ``${scaled_freely:N}`` a width on which no other width
depends: times ``fine_scale`` too. ``${in_words:KEY}`` is a setting as labels say it.
"""

import math
import re
import sys
from datetime import datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from typing_extensions import override

from datamodules.errors import UserError
from lightning_modules.ranks.devices import is_rank_zero, world_size
from lightning_modules.runs import job
from lightning_modules.runs.identity import folder_digest, scoreboard_name
from lightning_modules.runs.paths import HYDRA, RESULT
from sweeps.launch import jobs
from sweeps.launch.jobs import TaskSweeper

NAMED = {"systems": DictConfig({}, flags={"struct": False})}
"""Keys of ``task=evaluate`` that take a value for each name, without Hydra's ``+``."""
TRAIN, TEST = "lightning_modules.tasks.train.train", "lightning_modules.tasks.score.score"
TIME = "%Y-%m-%d_%H-%M-%S-%f"
STAMP = re.sub("%[a-zA-Z]", r"\\d+", TIME)  # pattern of such a time
ENTRY_POINTS = "attention_bench.conf"
"""Group of entry points by which a package offers its files of configuration."""
TASKS_OF_ONE_RUN = (TRAIN, TEST)
"""Tasks that several ranks can share, and that write their progress."""


def folder(parent: str, name: str, digest: str) -> str:
    """Return PARENT/NAME-DIGEST, or the latest that ``force=true`` made: PARENT/NAME-DIGEST-TIME.

    Raises ``UserError`` for a name that leads to another folder.
    """
    if "/" in name:  # Hydra makes the folder before the settings are checked
        raise UserError(
            f"variant, seed or comparison_name: {name} has a slash; give a name without slashes"
        )
    stem = Path(parent, f"{name}-{digest}")
    named = re.compile(f"{re.escape(stem.name)}-{STAMP}")
    forced = sorted(path for path in stem.parent.glob("*") if named.fullmatch(path.name))
    return str(forced[-1] if forced else stem)


def run_name(*, _root_: DictConfig) -> str:
    """Return the name of the run of ``checkpoint``, which is the run's folder or a file there."""
    named = "" if OmegaConf.is_missing(_root_, "checkpoint") else str(_root_.checkpoint)
    path = Path(named).absolute()
    return path.parents[1].name if path.suffix == ".ckpt" else path.name


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
    return f"{datetime.now():{TIME}}"


def scoreboard(*, _root_: DictConfig) -> str:
    """Return the name of the scoreboard's folder."""
    # A task gets its configuration without Hydra's node.
    return scoreboard_name(_root_, _root_.hydra if "hydra" in _root_ else HydraConfig.get())


def hydra_files(*, _root_: DictConfig) -> str | None:
    """Return the folder of Hydra's files in the folder of a job; None where it writes none.

    These are ranks other than the first, and a finished run, whose record stays as it is.
    """
    runtime = _root_.hydra.runtime
    if OmegaConf.is_missing(runtime, "output_dir") or _root_.get("force"):
        finished = False
    else:
        finished = Path(runtime.output_dir, RESULT).is_file()
    return HYDRA if is_rank_zero() and not finished else None


def on_rank_zero(value: Any, others: Any) -> Any:
    """Return ``value`` on rank zero, which alone writes the files of Hydra, else ``others``."""
    return value if is_rank_zero() else others


def on_built_in(value: Any, others: Any, *, _root_: DictConfig) -> Any:
    """Return ``value`` for the built-in corpus, else ``others``."""
    corpus = OmegaConf.select(_root_, "data._target_", default="")
    return value if str(corpus).startswith("datamodules.grammar") else others


def scaled(width: int, multiple: int = 2, *, _root_: DictConfig) -> int:
    """Return ``width × scale``, rounded to a multiple (of heads, or directions), at least one."""
    return _rounded(width * _factor(_root_, "scale"), multiple)


def scaled_freely(width: int, *, _root_: DictConfig) -> int:
    """Return ``width × scale × fine_scale``, rounded to a multiple of two."""
    return _rounded(width * _factor(_root_, "scale") * _factor(_root_, "fine_scale"), 2)


def in_words(key: str, *, _root_: DictConfig) -> str:
    """Return a setting as the label of a system says it; ``none`` where there is no such part."""
    return job.in_words(str(OmegaConf.select(_root_, key, default="none")))


def _factor(config: DictConfig, name: str) -> float:
    factor = config[name]
    if not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise UserError(f"{name}={factor}: must be a positive number, such as {name}=0.5")
    return factor


def _rounded(width: float, multiple: int) -> int:
    return max(1, round(width / multiple)) * multiple


class InstalledConf(SearchPathPlugin):
    """Adds the configuration of installed packages: entry points of ``attention_bench.conf``.

    Each names a package of YAML files, as ``conf/`` has them, such as ``my_package.conf``.
    """

    @override
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for entry in entry_points(group=ENTRY_POINTS):
            search_path.append(entry.name, f"pkg://{entry.value}")


def register() -> None:
    """Tell OmegaConf and Hydra of what ``conf/`` uses beside their own parts."""
    # The cache gives all jobs of a command the folder of the first call.
    OmegaConf.register_new_resolver("folder", folder, replace=True, use_cache=True)
    labels, choices = (run_name, in_words), (on_built_in, scaled, scaled_freely)
    files = (digest, time, scoreboard, hydra_files, on_rank_zero)
    for resolver in (*labels, *files, *choices):
        OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)
    ConfigStore.instance().store(name="named_systems", node=DictConfig(NAMED))
    # Hydra takes plug-ins from its own namespace package alone.
    sys.modules[TaskSweeper.__module__] = jobs
    Plugins.instance().register(TaskSweeper)
    Plugins.instance().register(InstalledConf)
