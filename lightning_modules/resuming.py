"""Whether what a folder holds is the beginning of a training."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datamodules.errors import UserError
from lightning_modules.checkpoints import FOLDER, LAST, read_checkpoint
from lightning_modules.translation import TranslationModule

log = logging.getLogger(__name__)

NOT_OF_A_TRAINING = {
    *("task", "variant", "comparison", "comparison_name", "sweep", "logger", "outputs"),
    *("cache_dir", "keep_memory", "decoding", "scoring"),
    "data",  # its fingerprint tells more than its paths
}
"""Parts of the configuration that change nothing in the weights."""


def last_checkpoint(folder: Path, module: TranslationModule) -> Path | None:
    """Return the checkpoint from which this very training goes on; None if it begins.

    It is the same training if its configuration, data and code are. What a process that was killed
    had half-written is removed. Raises ``UserError`` for a checkpoint that cannot be used.
    """
    file = folder / FOLDER / LAST
    for rest in file.parent.glob(".*.part.ckpt"):
        rest.unlink()
    if not file.is_file():
        return None
    content = read_checkpoint(file)
    other = difference(content["hyper_parameters"], module.hparams)
    if other:
        log.info("%s is of a training with another %s: this one starts over", file, other)
        return None
    sizes = {name: tensor.shape for name, tensor in module.state_dict().items()}
    if sizes != {name: tensor.shape for name, tensor in content["state_dict"].items()}:
        raise UserError(f"{file}: its weights have other sizes than the model; remove it")
    log.info("%s: training goes on after update %s", file, content["global_step"])
    return file


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """Name a part of the configuration in which two trainings differ."""
    names = sorted({*first, *second} - NOT_OF_A_TRAINING)
    return next((name for name in names if first.get(name) != second.get(name)), None)
