"""The command that made a comparison or an evaluation."""

import shlex
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import MULTIRUN

FILES = (MULTIRUN, ".hydra/hydra.yaml")
"""Files of Hydra with the overrides of a command, of a multirun first."""


def command_of(out: Path) -> str | None:
    """Return the command behind the folder ``out``, without passwords; None if Hydra kept none."""
    kept = next((out / name for name in FILES if (out / name).is_file()), None)
    if kept is None:
        return None
    content: Any = OmegaConf.to_container(OmegaConf.load(kept))
    overrides = content["hydra"]["overrides"]
    multirun = ["-m"] if "hydra.mode=MULTIRUN" in overrides["hydra"] else []
    return f"python run.py {shlex.join([*multirun, *redacted(overrides['task'])])}"
