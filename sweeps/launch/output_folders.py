"""``${folder:PARENT,NAME,${digest:}}``: the same command gets the same folder again."""

import hashlib
import json
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Any

from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from lightning_modules.runs.provenance import code_versions
from lightning_modules.runs.settings_table import RESULTS, overrides_that_affect, values_that_affect

REUSED_TASKS = ("lightning_modules.tasks.train.train",)
"""Tasks that use the finished result of an earlier command."""


def folder(parent: str, name: str, digest: str) -> str:
    """Return PARENT/NAME-DIGEST, or the latest folder whose name begins with NAME-DIGEST."""
    stem = Path(parent, f"{name}-{digest}")
    known = sorted(stem.parent.glob(f"{escape(stem.name)}*"))
    return str(known[-1] if known else stem)


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


# The cache gives all jobs of a multirun the folder of the first call.
OmegaConf.register_new_resolver("folder", folder, replace=True, use_cache=True)
OmegaConf.register_new_resolver("digest", digest, replace=True)
