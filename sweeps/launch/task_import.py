"""The import of a task, which is most of the start of a command."""

import gc
from collections.abc import Callable
from functools import cache
from typing import Any

from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf

from lightning_modules.tracking.early_import import import_wandb_early

Task = Callable[[DictConfig], Any]


def import_task(path: str, config: DictConfig) -> Task:
    """Import the task with the dotted ``path``, and the logger of ``config`` before the task."""
    return _imported(path, OmegaConf.select(config, "logger._target_"))


@cache  # one worker of joblib runs many jobs
def _imported(path: str, logger: str | None) -> Task:
    """Import without Python's search for garbage, which took 0.8 s: modules are never garbage."""
    gc.disable()
    try:
        import_wandb_early(logger)
        return get_method(path)
    finally:
        gc.freeze()
        gc.enable()
