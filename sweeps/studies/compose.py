"""Configurations of jobs that Hydra did not start."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from datamodules.files import write_text
from lightning_modules.redaction import redacted

NOT_OF_A_TRAINING = ("task=", "seed=")
"""Overrides on the command line of a study that are none of its trainings."""
OF_THE_STUDY = ("hydra", "sweep", "tuned", "task")
"""Parts of its configuration that are none of theirs."""


def base_overrides(overrides: Sequence[str]) -> list[str]:
    """What the command line of a study says of every training in it."""
    return [override for override in overrides if not override.startswith(NOT_OF_A_TRAINING)]


def composed(overrides: Sequence[str]) -> DictConfig:
    """The configuration that a command line with these overrides has, Hydra's own included.

    Raises what Hydra raises for overrides that do not fit.
    """
    return compose("config", list(overrides), return_hydra_config=True)


@contextmanager
def as_job(overrides: Sequence[str], folder: Path) -> Iterator[DictConfig]:
    """Let what runs inside believe that Hydra started it in ``folder``, with these overrides."""
    config = composed(overrides)
    with open_dict(config):
        config.hydra.runtime.output_dir = str(folder)
        config.hydra.mode = RunMode.MULTIRUN  # its progress is read from a file
        config.hydra.job.num = 0
    own = own_settings(config)
    folder.mkdir(parents=True, exist_ok=True)
    written = {
        "config": own,
        "overrides": OmegaConf.create(list(overrides)),
        "hydra": OmegaConf.create({"hydra": config.hydra}),
    }
    for name, told in written.items():
        write_text(folder / ".hydra" / f"{name}.yaml", redacted(OmegaConf.to_yaml(told)))
    with current(config):
        yield own


@contextmanager
def current(config: Any) -> Iterator[None]:
    """Let interpolations into Hydra's own configuration find this one."""
    outer = HydraConfig.instance().cfg
    HydraConfig.instance().cfg = config
    try:
        yield
    finally:
        HydraConfig.instance().cfg = outer


def own_settings(config: DictConfig) -> DictConfig:
    """The settings of a training, without those of the study around it; interpolations stay."""
    kept: Any = OmegaConf.masked_copy(
        config, [str(key) for key in config if key not in OF_THE_STUDY]
    )
    return kept
