"""``${folder:PARENT,NAME,${digest:}}``: the same command gets the same folder again."""

import hashlib
import json
import re
import shutil
from datetime import datetime
from glob import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.paths import CONF, HYDRA
from lightning_modules.runs.provenance import code_versions
from lightning_modules.runs.settings import (
    RESULTS,
    key_of,
    overrides_that_affect,
    settings,
    values_that_affect,
)

OF_SCOREBOARDS = ("claims", "seed_count", "learning_rates")
"""Keys of ``task=claims`` that change verdicts and no training."""
EVERY_CLAIM = ("all", "list")
NAME = re.compile(r"[\w.]+")
"""Names of papers and claims, which name a folder as they are."""
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
    hydra = _root_.hydra
    plain: Any = OmegaConf.to_container(_root_)
    content: list[Any] = [values_that_affect(plain, RESULTS), code_versions(_root_).training]
    if hydra.mode == RunMode.MULTIRUN:
        overrides = overrides_that_affect(hydra.overrides.task, RESULTS)
        content += [sorted(overrides), dict(hydra.sweeper.params or {})]
    digits = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
    if _root_.task in REUSED_TASKS and not _root_.force:
        return digits
    return f"{digits}-{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"


def scoreboard(*, _root_: DictConfig) -> str:
    """Return TIER for all claims as they stand; else TIER-CLAIMS, with eight digits of the rest.

    The digits are of the overrides that change a verdict, so that the scoreboards of two commands
    do not replace each other.
    """
    # A task gets its configuration without Hydra's node.
    hydra: Any = _root_.hydra if "hydra" in _root_ else HydraConfig.get()
    name, given = str(hydra.runtime.choices.tier), hydra.overrides.task
    further = {each for each in given if key_of(each) in OF_SCOREBOARDS}
    further |= {*overrides_that_affect(given, RESULTS)} - {f"tier={name}"}
    claims = _root_.get("claims")
    if isinstance(claims, str) and NAME.fullmatch(claims):
        further -= {f"claims={claims}"}
        name += "" if claims in EVERY_CLAIM else f"-{claims}"
    if not further:
        return name
    return f"{name}-{hashlib.sha256(json.dumps(sorted(further)).encode()).hexdigest()[:8]}"


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
