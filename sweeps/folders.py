"""``${folder:PARENT,NAME,${digest:}}``: the same command comes back to its folder."""

import hashlib
import json
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Any

from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from lightning_modules.provenance import code_of

AGAIN = ("lightning_modules.tasks.train.train",)
"""Tasks whose results are there when they are asked for once more."""
OF_NO_RESULT = ("hydra", "outputs", "cache_dir", "logger", "force", "keep_memory")
"""Settings that may be others when the command is given again."""


def folder(parent: str, name: str, digest: str) -> str:
    """Return PARENT/NAME-DIGEST, or the latest folder that begins so."""
    stem = Path(parent, f"{name}-{digest}")
    known = sorted(stem.parent.glob(f"{escape(stem.name)}*"))
    return str(known[-1] if known else stem)


def digest(*, _root_: DictConfig) -> str:
    """Tell configuration and code in eight hexadecimal digits.

    With ``force=true``, and for tasks other than training, the time follows, so that the folder is
    new; after that the same command comes back to the latest.
    """
    told: dict[str, Any] = {
        "config": {str(key): _plain(_root_, key) for key in _root_ if key not in OF_NO_RESULT},
        "choices": {name: _root_.hydra.runtime.choices[name] for name in ("model", "comparison")},
        "code": code_of(_root_),
    }
    if _root_.hydra.mode == RunMode.MULTIRUN:
        given = [one for one in _root_.hydra.overrides.task if not one.startswith(OF_NO_RESULT)]
        told["jobs"] = [sorted(given), dict(_root_.hydra.sweeper.params or {})]
    found = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]
    if _root_.task in AGAIN and not _root_.force:
        return found
    return f"{found}-{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"


def _plain(config: DictConfig, key: Any) -> Any:
    """Interpolations stay as they are written: some lead to this very folder."""
    node: Any = config._get_node(key)
    return OmegaConf.to_container(node) if OmegaConf.is_config(node) else node._value()


# With a cache, the jobs of a multirun keep the folder that was found for all of them.
OmegaConf.register_new_resolver("folder", folder, replace=True, use_cache=True)
OmegaConf.register_new_resolver("digest", digest, replace=True)
