"""Whether what a folder holds is this very run, or the beginning of it."""

import logging
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.building import build_data, build_settings
from lightning_modules.checkpoints import FOLDER, LAST, read_own_checkpoint
from lightning_modules.provenance import code_of
from lightning_modules.redaction import redacted
from lightning_modules.run_folder import BrokenFileError, Result, read_result
from lightning_modules.translation import TranslationModule
from lightning_modules.vectors import fingerprint

log = logging.getLogger(__name__)

NOT_OF_A_RUN = {
    *("task", "variant", "comparison", "comparison_name", "sweep", "logger", "outputs"),
    *("cache_dir", "keep_memory", "force"),
    "data",  # its fingerprint tells more than its paths
}
"""Parts of the configuration that change nothing in a run."""
OF_THE_TEST = {"decoding", "scoring"}
"""Parts that change nothing in the weights."""


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
    content = read_own_checkpoint(file)
    other = difference(content["hyper_parameters"], module.hparams, OF_THE_TEST)
    if other:
        log.info("%s is of a training with another %s: this one starts over", file, other)
        return None
    sizes = {name: tensor.shape for name, tensor in module.state_dict().items()}
    if sizes != {name: tensor.shape for name, tensor in content["state_dict"].items()}:
        raise UserError(f"{file}: its weights have other sizes than the model; remove it")
    log.info("%s: training goes on after update %s", file, content["global_step"])
    return file


def finished_before(folder: Path, config: DictConfig) -> Result | None:
    """Return the result in a folder if configuration, data and code of that run are these.

    Files of word vectors are data.
    """
    try:
        result = read_result(folder)
    except BrokenFileError:
        return None
    if result is None:
        return None
    vectors = {side: file.fingerprint for side, file in result.vectors.items()}
    if (result.code, result.data.fingerprint, vectors) != _made_of(config):
        return None
    own: Any = redacted(OmegaConf.to_container(config, resolve=True))
    return None if difference(result.config, own) else result


def _made_of(config: DictConfig) -> tuple[str, str, dict[str, str | None]]:
    files = build_settings(config).vectors.given
    vectors = {side: fingerprint(path) for side, path in files.items()}
    return code_of(config), build_data(config).fingerprint, vectors


def difference(
    first: Mapping[str, Any], second: Mapping[str, Any], besides: Set[str] = frozenset()
) -> str | None:
    """Name a part of the configuration, besides those, in which two runs differ."""
    names = sorted({*first, *second} - NOT_OF_A_RUN - besides)
    return next((name for name in names if first.get(name) != second.get(name)), None)
